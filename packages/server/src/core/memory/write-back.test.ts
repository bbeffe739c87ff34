import fc from "fast-check";
import { expect, test } from "vitest";
import type { MemoryRecord } from "../ports/memory-stores.ts";
import { PathSet } from "./path-set.ts";
import { type HashedChange, type MemoryWrite, planWriteBack } from "./write-back.ts";

/** In place of hashes: long enough for names, and readable. */
const shaOf = (content: string) => content.padEnd(64, "0");

const memories = (files: Readonly<Record<string, string>>) =>
  Object.entries(files).map(
    ([path, content]): MemoryRecord => ({
      workspace_id: "wrkspc_1",
      memory_store_id: "memstore_1",
      id: `mem${path}`,
      memory_version_id: "memver_1",
      path,
      content: null,
      content_sha256: shaOf(content),
      content_size_bytes: content.length,
      created_at: "",
      updated_at: "",
    }),
  );
const changed = (path: string, from: string | null, content: string | null): HashedChange => ({
  path,
  derived_from: [from === null ? null : shaOf(from)],
  content,
  sha256: content === null ? null : shaOf(content),
});
const shown = (write: MemoryWrite) => {
  switch (write.type) {
    case "create":
      return `create ${write.path}: ${write.content}`;
    case "update":
      return `update ${write.memory.path}: ${write.content}`;
    case "rename":
      return `rename ${write.memory.path} ${write.path}`;
    case "delete":
      return `delete ${write.memory.path}`;
  }
};
function plan(files: Readonly<Record<string, string>>, ...changes: readonly HashedChange[]) {
  const { writes, told } = planWriteBack(memories(files), changes);
  return { writes: writes.map(shown), told };
}

test("what nobody else has touched is created, changed and deleted", () => {
  const changes = [changed("/new", null, "n"), changed("/a", "a", "b"), changed("/z", "z", null)];
  expect(plan({ "/a": "a", "/z": "z" }, ...changes)).toEqual({
    writes: ["delete /z", "update /a: b", "create /new: n"],
    told: [],
  });
});

test("what the store has already, or has not any more, is not written again", () => {
  const changes = [changed("/a", "old", "a"), changed("/gone", "x", null)];
  expect(plan({ "/a": "a" }, ...changes)).toEqual({ writes: [], told: [] });
});

test("a file of the same content elsewhere is the memory renamed", () => {
  const changes = [changed("/a", "text", null), changed("/d/b", null, "text")];
  expect(plan({ "/a": "text" }, ...changes).writes).toEqual(["rename /a /d/b"]);
  const below = [changed("/a", "text", null), changed("/a/b", null, "text")];
  expect(plan({ "/a": "text" }, ...below).writes).toEqual(["rename /a /a/b"]);
});

test("a rename to where another memory still is is a deletion and a creation", () => {
  const changes = [
    ...[changed("/a", "1", null), changed("/b/c", null, "1")],
    ...[changed("/b", "2", null), changed("/d", null, "2")],
  ];
  expect(plan({ "/a": "1", "/b": "2" }, ...changes).writes).toEqual([
    ...["delete /a", "rename /b /d", "create /b/c: 1"],
  ]);
});

test("what others have changed stays, and the sandbox's text is stored beside it, once", () => {
  const change = changed("/a.md", "old", "mine");
  const beside = `/a.md.conflict-${shaOf("mine").slice(0, 8)}`;
  const told = [{ type: "beside", path: "/a.md", beside }];
  expect(plan({ "/a.md": "theirs" }, change)).toEqual({
    writes: [`create ${beside}: mine`],
    told,
  });
  expect(plan({ "/a.md": "theirs", [beside]: "mine" }, change)).toEqual({ writes: [], told });
  const other = plan({ "/a.md": "theirs", [beside]: "another" }, change);
  expect(other).toMatchObject({ writes: [], told: [{ type: "refused", path: "/a.md" }] });
});

test("a memory that others changed is not deleted; one they deleted is made again if it was changed", () => {
  expect(plan({ "/a": "theirs" }, changed("/a", "old", null))).toEqual({
    writes: [],
    told: [{ type: "not_deleted", path: "/a" }],
  });
  expect(plan({}, changed("/a", "old", "mine")).writes).toEqual(["create /a: mine"]);
});

test("a path above or below a memory of others is stored beside that", () => {
  const below = `/a.conflict-${shaOf("x").slice(0, 8)}/b/c`;
  expect(plan({ "/a": "theirs" }, changed("/a/b/c", null, "x"))).toEqual({
    writes: [`create ${below}: x`],
    told: [{ type: "beside", path: "/a/b/c", beside: below }],
  });
  const above = `/a.conflict-${shaOf("x").slice(0, 8)}`;
  expect(plan({ "/a/b": "theirs" }, changed("/a", null, "x")).writes).toEqual([
    `create ${above}: x`,
  ]);
});

test("what cannot be a memory is refused, each with its reason", () => {
  const long = "x".repeat(102_401);
  const refused = plan(
    {},
    changed("/a/../b", null, "x"),
    changed("/big", null, long),
    changed("/half", null, "\ud800"),
    changed("/nul", null, "a\0b"),
  );
  expect(refused.writes).toEqual([]);
  expect(refused.told.map(({ type, path }) => `${type} ${path}`)).toEqual([
    ...["refused /a/../b", "refused /big", "refused /half", "refused /nul"],
  ]);
});

test("a full store takes no more, and a deletion makes room", () => {
  const full = Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`/f${n}`, `${n}`]));
  const create = changed("/new", null, "n");
  expect(plan(full, create)).toMatchObject({ writes: [], told: [{ type: "refused" }] });
  expect(plan(full, create, changed("/f7", "7", null)).writes).toEqual([
    ...["delete /f7", "create /new: n"],
  ]);
});

test("whatever was changed, what comes of it are paths that a store can have, and twice is once", () => {
  const path = fc.constantFrom("/a", "/a/b", "/a/b/c", "/b", "/c/d", "/c");
  const files = fc.dictionary(path, fc.constantFrom("1", "2", "3"));
  const change = fc.record({
    path,
    from: fc.option(fc.constantFrom("1", "2")),
    to: fc.option(fc.constantFrom("1", "2", "4")),
  });
  const changes = fc.uniqueArray(change, { selector: (each) => each.path });
  fc.assert(
    fc.property(files, changes, (given, made) => {
      const start = new PathSet([]);
      for (const each of Object.keys(given)) {
        if (start.inTheWay(each) !== undefined) delete given[each];
        else start.add(each);
      }
      const all = made.map(({ path: at, from, to }) => changed(at, from, to));
      const after = carriedOut(given, planWriteBack(memories(given), all).writes);
      const again = planWriteBack(memories(after), all);
      // A conflict may have made room for nothing, and what is beside is there.
      expect(carriedOut(after, again.writes)).toEqual(after);
      for (const { content } of all) {
        if (content !== null) expect(Object.values(after)).toContain(content);
      }
    }),
  );
});

/** As a store does it: a path that is taken, or above or below another, is an error. */
function carriedOut(files: Readonly<Record<string, string>>, writes: readonly MemoryWrite[]) {
  const result = new Map(Object.entries(files));
  for (const write of writes) {
    const old = write.type === "create" ? undefined : write.memory.path;
    const before = old === undefined ? undefined : result.get(old);
    if (old !== undefined) {
      expect(before).toBeDefined();
      result.delete(old);
    }
    if (write.type === "delete") continue;
    const path = write.type === "update" ? write.memory.path : write.path;
    expect(new PathSet(result.keys()).inTheWay(path)).toBeUndefined();
    result.set(path, write.type === "rename" ? (before ?? "") : write.content);
  }
  return Object.fromEntries(result);
}
