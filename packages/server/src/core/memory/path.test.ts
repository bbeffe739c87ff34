import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvalidRequestError } from "../errors.ts";
import { ancestorsOf, assertFolder, assertPath, endOf, folderBelow } from "./path.ts";

const twenty = Array.from({ length: 20 }, () => "s");
const COMPOSED = "/caf\u00e9.md";

describe("a path", () => {
  test.each([
    "/a",
    "/projects/foo/notes.md",
    "/ with blanks ",
    "/...",
    "/.hidden/..x",
    "/日本/🎉",
    COMPOSED,
    `/${twenty.join("/")}`,
    `/${"x".repeat(1023)}`,
    `/${"é".repeat(511)}`,
  ])("may be %j", (path) => {
    expect(() => assertPath(path, "path")).not.toThrow();
  });

  test.each<[string, string]>([
    ["", "start with /"],
    ["a", "start with /"],
    ["/", "empty segments"],
    ["//a", "empty segments"],
    ["/a/", "empty segments"],
    ["/a//b", "empty segments"],
    ["/.", ". or .."],
    ["/a/../b", ". or .."],
    [`/${twenty.join("/")}/s`, "at most 20 segments"],
    [`/${"x".repeat(1024)}`, "1024 bytes"],
    [`/${"é".repeat(512)}`, "1024 bytes"],
    ["/a\u0007", "control"],
    ["/a\u0085b", "control"],
    ["/a\tb", "control"],
    ["/soft\u00adhyphen", "format"],
    ["/joined\u200d", "format"],
    ["/\ufeffbom", "format"],
    ["/right\u202eto-left", "format"],
    ["/tag\u{e0041}", "format"],
    ["/line\u2028", "U+2028"],
    ["/paragraph\u2029", "U+2028"],
    [COMPOSED.normalize("NFD"), "Form C"],
    ["/\u212b", "Form C"],
  ])("may not be %j", (path, problem) => {
    expect(() => assertPath(path, "path")).toThrow(InvalidRequestError);
    expect(() => assertPath(path, "path")).toThrow(/^path: /);
    expect(() => assertPath(path, "path")).toThrow(problem);
  });
});

test("a folder is / or a path and a /", () => {
  for (const folder of ["/", "/a/", "/a/b/", `/${twenty.join("/")}/`]) {
    expect(() => assertFolder(folder, "path_prefix")).not.toThrow();
  }
  for (const folder of ["/a", "a/", "//", "/a//", "/../", ""]) {
    expect(() => assertFolder(folder, "path_prefix")).toThrow(/^path_prefix: /);
  }
});

test("the ancestors of a path are the paths above it, from the top", () => {
  expect(ancestorsOf("/a/b/c")).toEqual(["/a", "/a/b"]);
  expect(ancestorsOf("/a")).toEqual([]);
});

test("the folder below another is the next one on the way to a path", () => {
  expect(folderBelow("/", "/a/b/c")).toBe("/a/");
  expect(folderBelow("/a/", "/a/b/c")).toBe("/a/b/");
  expect(folderBelow("/a/b/", "/a/b/c")).toBeUndefined();
  expect(folderBelow("/", "/a")).toBeUndefined();
});

test("the end of a folder comes after all that is in it and before all that follows it", () => {
  const segment = fc.string({ unit: "binary", minLength: 1 }).filter((text) => !text.includes("/"));
  fc.assert(
    fc.property(segment, fc.string({ unit: "binary" }), (name, rest) => {
      const compare = (left: string, right: string) =>
        Buffer.compare(Buffer.from(left), Buffer.from(right));
      expect(compare(`/${name}/${rest}`, endOf(`/${name}/`))).toBe(-1);
      expect(compare(`/${name}0`, endOf(`/${name}/`))).toBe(0);
      expect(compare(`/${name}.`, `/${name}/`)).toBe(-1);
    }),
  );
});
