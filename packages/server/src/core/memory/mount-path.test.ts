import { expect, test } from "vitest";
import { contentSize } from "./content.ts";
import { mountPathOf } from "./mount-path.ts";

test.each([
  ["notes", "/mnt/memory/notes"],
  ["User Preferences", "/mnt/memory/user-preferences"],
  ["a -- b__C.9", "/mnt/memory/a-b-c-9"],
  ["../../etc", "/mnt/memory/-etc"],
  ["Ünïcode", "/mnt/memory/-n-code"],
  ["\u212aelvin", "/mnt/memory/-elvin"],
  ["日本", "/mnt/memory/-"],
])("the store %j is mounted at %s", (name, path) => {
  expect(mountPathOf(name)).toBe(path);
});

test("no name makes a folder's name that is longer than itself", () => {
  expect(mountPathOf("\u0130".repeat(255))).toBe("/mnt/memory/-");
  expect(mountPathOf("x\u0130".repeat(127)).length).toBe("/mnt/memory/".length + 254);
});

test("the size of a content is that of its UTF-8, up to 102,400 bytes", () => {
  expect([contentSize(""), contentSize("é🎉")]).toEqual([0, 6]);
  expect(contentSize("é".repeat(51_200))).toBe(102_400);
  expect(() => contentSize(`${"é".repeat(51_200)}x`)).toThrow("content: 102401 bytes");
});
