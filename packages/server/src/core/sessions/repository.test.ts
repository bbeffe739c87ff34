import { describe, expect, test } from "vitest";
import { assertBranch, repositoryName } from "./repository.ts";

describe("the URL of a repository", () => {
  test.each([
    ["https://github.com/owner/name", "name"],
    ["https://git.example.com:8443/a-team/some.thing_2", "some.thing_2"],
  ])("%s gives its name", (url, name) => {
    expect(repositoryName(url, "url")).toBe(name);
  });

  test.each([
    "github.com/owner/name",
    "http://github.com/owner/name",
    "ssh://git@github.com/owner/name",
    "https://token@github.com/owner/name",
    "https://user:secret@github.com/owner/name",
    "https://github.com/owner/name.git",
    "https://github.com/owner",
    "https://github.com/owner/name/tree/main",
    "https://github.com/owner/name/",
    "https://github.com/owner/name?ref=main",
    "https://github.com/owner/name#readme",
    "https://github.com/owner/name?",
    "https://github.com/../name",
    "https://github.com/owner/%2e%2e",
    "https://github.com/owner/na me",
  ])("is not %s", (url) => {
    expect(() => repositoryName(url, "resources.0.url")).toThrow(/^resources\.0\.url: /);
  });

  test("is not told with the credentials that were in it", () => {
    const tell = () => repositoryName("https://user:secret@github.com/owner/name", "url");
    expect(tell).toThrow(/authorization_token/);
    expect(tell).not.toThrow(/secret/);
  });
});

describe("the name of a branch", () => {
  test.each(["main", "feature/new-thing", "v1.2", "ümlaut", "a@b"])("may be %s", (name) => {
    expect(() => assertBranch(name, "name")).not.toThrow();
  });

  test.each([
    "-x",
    "--upload-pack=touch",
    "a..b",
    "a b",
    "a~1",
    "a^",
    "a:b",
    "a?",
    "a*",
    "a[b",
    "a\\b",
    "/a",
    "a/",
    "a//b",
    "a.",
    ".a",
    "a/.b",
    "a.lock",
    "a.lock/b",
    "@",
    "a@{1}",
    "a\nb",
  ])("may not be %j", (name) => {
    expect(() => assertBranch(name, "checkout.name")).toThrow(/^checkout\.name: /);
  });
});
