import { posix, win32 } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ArchiveMember } from "../../lib/archive/archive.ts";
import { assertMembers, CONTENT_BYTES_MAX, MEMBERS_MAX, problemInPath } from "./member-rules.ts";

function file(path: string, changes: Partial<ArchiveMember> = {}): ArchiveMember {
  return { path, kind: "file", size: 1, isEncrypted: false, isExecutable: false, ...changes };
}

const folder = (path: string) => file(path, { kind: "folder", size: 0 });

describe("a member's path", () => {
  test.each([
    ["a/SKILL.md"],
    ["a/b/c.txt"],
    ["a/.hidden"],
    ["a/..b"],
    ["a/b..c/d"],
    ["a/ spaced name .txt"],
    ["a/naïve – Übersicht.csv"],
    ["a/👩‍🚀.txt"],
    ["a/b:c"],
    [`a/${"x".repeat(255)}`],
    ["a/folder/"],
  ])("may be %j", (path) => {
    expect(problemInPath(path)).toBeUndefined();
  });

  test.each([
    ["..", ". or .."],
    ["../a", ". or .."],
    ["a/../../b", ". or .."],
    ["a/./b", ". or .."],
    ["a/..", ". or .."],
    ["/etc/passwd", "absolute"],
    ["C:/boot.ini", "absolute"],
    ["c:boot.ini", "absolute"],
    ["a\\b", "backslashes"],
    ["..\\b", "backslashes"],
    ["a\0b", "control"],
    ["a/b\nc", "control"],
    ["a/\u202etxt.exe", "control"],
    ["a/\ud83d", "control"],
    ["a/\ufffd", "control"],
    ["", "empty"],
    ["a//b", "empty"],
    ["a/ /b", "empty"],
    ["a/b//", "empty"],
    [`a/${"x".repeat(256)}`, "255 bytes"],
    [`a/${"ü".repeat(128)}`, "255 bytes"],
    [
      `${"abcdefg/".repeat(20)}${"y".repeat(255)}/${"x".repeat(255)}/${"x".repeat(255)}/${"x".repeat(255)}`,
      "1024 bytes",
    ],
    [`${"a/".repeat(32)}b`, "32 names"],
  ])("is never %j", (path, problem) => {
    expect(problemInPath(path)).toContain(problem);
  });

  test("that is taken stays inside of the folder it is joined to, whatever it is made of", () => {
    const hostile = fc.constantFrom("..", ".", "", "/", "\\", "C:", "\0", " ", "a", "é", "~");
    const path = fc
      .array(fc.oneof(hostile, fc.string({ unit: "binary", maxLength: 4 })), { maxLength: 8 })
      .chain((parts) => fc.constantFrom(parts.join("/"), parts.join("")));
    fc.assert(
      fc.property(path, (name) => {
        if (problemInPath(name) !== undefined) return;
        expect(posix.join("/root/skill", name).startsWith("/root/skill/")).toBe(true);
        expect(win32.resolve("C:\\root\\skill", name).startsWith("C:\\root\\skill\\")).toBe(true);
        expect(name.split("/").slice(0, -1)).not.toContain("");
        expect(name).not.toMatch(/[\0\\]/);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("members together", () => {
  test("may share folders, in any order", () => {
    const members = [file("a/b/c"), folder("a/"), folder("a/b"), file("a/d"), folder("a/")];
    expect(() => assertMembers(members)).not.toThrow();
  });

  test.each<[string, readonly ArchiveMember[], string]>([
    ["the same name twice", [file("a/b"), file("a/b")], "the same name"],
    ["names that differ by case", [file("a/README"), file("a/readme")], "the same name"],
    ["names that differ by normal form", [file("a/\u00e9"), file("a/e\u0301")], "the same name"],
    ["folders that differ by case", [file("a/b"), file("A/c")], "spelled in two ways"],
    ["a file that is a folder too", [file("a/b"), file("a/b/c")], "a file and a folder"],
    ["a folder that is a file too", [file("a/b/c"), file("a/B")], "a file and a folder"],
    ["an empty folder over a file", [file("a/b"), folder("a/b/")], "a file and a folder"],
    ["a link", [file("a/b", { kind: "other" })], "links, devices"],
    ["an encrypted file", [file("a/b", { isEncrypted: true })], "encrypted"],
    ["a folder with content", [file("a/", { kind: "folder" })], "no content"],
    ["a size that is no number", [file("a/b", { size: Number.NaN })], "makes no sense"],
    ["a size below zero", [file("a/b", { size: -1 })], "makes no sense"],
    ["a bomb", [file("a/b", { size: 5_000_000, packedSize: 5_000 })], "bomb"],
    ["too much in all", [file("a/b", { size: CONTENT_BYTES_MAX }), file("a/c")], "bytes in all"],
    [
      "too many",
      Array.from({ length: MEMBERS_MAX + 1 }, (_, index) => file(`a/${index}`)),
      "more than 1000",
    ],
  ])("are refused for %s", (_what, members, problem) => {
    expect(() => assertMembers(members)).toThrow(problem);
  });

  test("are taken right up to the limits", () => {
    const most = Array.from({ length: MEMBERS_MAX }, (_, index) => file(`a/${index}`));
    expect(() => assertMembers(most)).not.toThrow();
    expect(() => assertMembers([file("a/b", { size: CONTENT_BYTES_MAX })])).not.toThrow();
    expect(() =>
      assertMembers([file("a/b", { size: 5_000_000, packedSize: 50_000 })]),
    ).not.toThrow();
  });

  test("are named in the refusal so that nothing of the name gets loose", () => {
    const path = `\u001b[31m\n${"x".repeat(1_000)}`;
    expect(() => assertMembers([file(path)])).toThrow(/^files: "\\u001b\[31m\\nx*…": a name/s);
  });
});
