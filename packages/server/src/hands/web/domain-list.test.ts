import { expect, test } from "vitest";
import { permits } from "./domain-list.ts";

const covered = (domain: string, url: string) => {
  const [allowed, blocked] = [{ allowed_domains: [domain] }, { blocked_domains: [domain] }];
  const isAllowed = permits(allowed, new URL(url));
  // The two lists are each other's opposite.
  expect(permits(blocked, new URL(url))).toBe(!isAllowed);
  return isAllowed;
};

test.each([
  ["example.com", "https://example.com/"],
  ["example.com", "https://EXAMPLE.com./x"],
  ["Example.com", "https://a.b.example.com:8443/x"],
  ["example.com/blog", "https://example.com/blog"],
  ["example.com/blog", "https://www.example.com/blog/2026"],
  ["example.com/blog/", "https://example.com/blog/2026"],
])("%s covers %s", (domain, url) => {
  expect(covered(domain, url)).toBe(true);
});

test.each([
  ["example.com", "https://notexample.com/"],
  ["example.com", "https://example.com.evil.test/"],
  ["a.example.com", "https://example.com/"],
  ["example.com/blog", "https://example.com/"],
  ["example.com/blog", "https://example.com/blogger"],
  ["example.com/blog", "https://example.com/x/blog"],
])("%s does not cover %s", (domain, url) => {
  expect(covered(domain, url)).toBe(false);
});

test("without a list everything is permitted", () => {
  expect(permits({}, new URL("https://example.com/"))).toBe(true);
});
