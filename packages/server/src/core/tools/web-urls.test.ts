import { expect, test } from "vitest";
import { canonicalUrl, urlFinder } from "./web-urls.ts";

test.each([
  ["https://Example.COM", "https://example.com/"],
  ["https://example.com:443/a/../b#part", "https://example.com/b"],
  ["https://example.com./x?y=1#", "https://example.com/x?y=1"],
  ["http://0x7f.1/", "http://127.0.0.1/"],
  ["https://bücher.example/ü", "https://xn--bcher-kva.example/%C3%BC"],
])("%s is fetched as %s", (given, canonical) => {
  expect(canonicalUrl(given)).toBe(canonical);
});

test.each([
  "",
  "example.com",
  "/path",
  "ftp://example.com/",
  "file:///etc/passwd",
  "javascript:alert(1)",
  "data:text/html,x",
  "https://user@example.com/",
  "https://user:word@example.com/",
  `https://example.com/${"x".repeat(2_048)}`,
])("%s is not fetched", (given) => {
  expect(canonicalUrl(given)).toBeUndefined();
});

test.each([
  "See https://example.com/a.",
  "[a page](https://example.com/a)",
  "<https://EXAMPLE.com/a>, and so on",
  '{"url":"https://example.com/a"}',
  "**https://example.com/a**",
  "https://example.com:443/x/../a#top!",
])("%s names the URL", (text) => {
  expect(urlFinder("https://example.com/a")(text)).toBe(true);
});

test.each([
  "https://example.com/",
  "https://example.com/ab",
  "https://example.com/a?q=1",
  "http://example.com/a",
  "https://www.example.com/a",
  "https://example.com.evil.test/a",
  "https://evil.test/https://example.com/a",
  "example.com/a",
])("%s does not", (text) => {
  expect(urlFinder("https://example.com/a")(text)).toBe(false);
});

test("a URL keeps its own brackets, and one of other letters is found in either spelling", () => {
  const page = "https://en.example/wiki/Stack_(structure)";
  expect(urlFinder(page)(`(see ${page})`)).toBe(true);
  const foreign = "https://xn--bcher-kva.example/";
  expect(urlFinder(foreign)("https://bücher.example and more")).toBe(true);
  expect(urlFinder(foreign)("https://xn--bcher-kva.example/")).toBe(true);
});

test("a long text without the URL is looked through quickly", () => {
  const texts = ["https://".repeat(500_000), `https://example.com/${".".repeat(3_000_000)}`];
  const startedMs = performance.now();
  for (const text of texts) expect(urlFinder("https://example.com/a")(text)).toBe(false);
  expect(performance.now() - startedMs).toBeLessThan(3_000);
});
