import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { ManualClock } from "../hands/fake/manual-clock.ts";
import { newId } from "../lib/new-id.ts";
import { Secret } from "../lib/secret.ts";
import { openMemoryStore } from "../store/sqlite/memory-store.testsuite.ts";
import { createKeys, hashOf, listKeys, newKey } from "./keys.ts";
import { createCursors } from "./pagination.ts";
import type { Principal } from "./principal.ts";

const admin: Principal = { workspaceId: "wrkspc_a", keyId: "apikey_a", role: "admin" };
const given = () => new Secret("a-key-that-was-given");

function world() {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock, announcements: { publish: () => undefined } });
  const keys = createKeys({ store, newId });
  const ensureFirst = (key?: Secret) => store.write((tx) => keys.ensureFirst(tx, "wrkspc_a", key));
  const create = (role: "admin" | "read_only", who = admin) =>
    store.write((tx) => keys.create(tx, who, { name: "k", role }));
  const revoke = (id: string, who = admin) => store.write((tx) => keys.revoke(tx, who, { id }));
  const cursors = createCursors({ key: randomBytes(32) });
  const list = async (who = admin) => (await listKeys({ store, cursors }, who, {})).data;
  return { store, keys, ensureFirst, create, revoke, list };
}

test("a key has 32 random bytes in letters and digits, and does not print", () => {
  const made = new Set(Array.from({ length: 100 }, () => newKey().reveal()));
  expect(made.size).toBe(100);
  for (const key of made) expect(key).toMatch(/^drv_[0-9A-Za-z]{43}$/);
  expect(JSON.stringify({ key: newKey() })).toBe('{"key":"[redacted]"}');
});

test("a key tells who its holder is until it is revoked; only its hash is stored", async () => {
  const { store, keys, create, revoke } = world();
  await create("admin");
  const { apiKey, key } = await create("read_only");
  expect(await keys.authenticate(key.reveal())).toEqual({
    workspaceId: "wrkspc_a",
    keyId: apiKey.id,
    role: "read_only",
  });
  expect(JSON.stringify(await store.apiKeys.list("wrkspc_a"))).not.toContain(key.reveal());
  const revoked = await revoke(apiKey.id);
  expect(revoked.revoked_at).not.toBeNull();
  expect(await revoke(apiKey.id)).toEqual(revoked);
  expect(await keys.authenticate(key.reveal())).toBeUndefined();
});

test("what is no key authenticates nobody", async () => {
  const { keys, ensureFirst } = world();
  const key = await ensureFirst();
  expect(key).toBeDefined();
  const hash = hashOf(key?.reveal() ?? "");
  for (const token of ["", "x", hash, `${key?.reveal()} `, "x".repeat(100_000)]) {
    expect(await keys.authenticate(token)).toBeUndefined();
  }
});

test("the first key is made once", async () => {
  const { keys, ensureFirst, list } = world();
  const key = await ensureFirst();
  expect(await keys.authenticate(key?.reveal() ?? "")).toMatchObject({ role: "admin" });
  expect(await ensureFirst()).toBeUndefined();
  expect(await list()).toHaveLength(1);
});

test("a given key is taken once, replaces the one before, and stays revoked", async () => {
  const { keys, ensureFirst, revoke, create } = world();
  const before = await ensureFirst();
  const { key: other } = await create("admin");
  expect((await ensureFirst(given()))?.reveal()).toBe(given().reveal());
  expect(await ensureFirst(given())).toBeUndefined();
  expect(await keys.authenticate(before?.reveal() ?? "")).toBeUndefined();
  expect(await keys.authenticate(other.reveal())).toBeDefined();
  const caller = await keys.authenticate(given().reveal());
  await revoke(caller?.keyId ?? "");
  expect(await ensureFirst(given())).toBeUndefined();
  expect(await keys.authenticate(given().reveal())).toBeUndefined();
});

test.each(["short", "has a blank inside it", `${"x".repeat(513)}`])(
  "a given key of %j is refused",
  async (key) => {
    await expect(world().ensureFirst(new Secret(key))).rejects.toThrow("the given API key must");
  },
);

test("only an admin handles keys", async () => {
  const { list, create, revoke } = world();
  const developer: Principal = { ...admin, role: "developer" };
  await expect(create("admin", developer)).rejects.toThrow("need the role admin");
  await expect(list(developer)).rejects.toThrow("need the role admin");
  await expect(revoke("apikey_x", developer)).rejects.toThrow("need the role admin");
});

test("the last admin key and another workspace's cannot be revoked", async () => {
  const { list, ensureFirst, create, revoke } = world();
  await ensureFirst();
  await create("read_only");
  const first = (await list()).find((key) => key.role === "admin");
  await expect(revoke(first?.id ?? "")).rejects.toThrow("the last admin key cannot be revoked");
  await expect(revoke(first?.id ?? "", { ...admin, workspaceId: "wrkspc_b" })).rejects.toThrow(
    "there is no API key",
  );
  await create("admin");
  expect(await revoke(first?.id ?? "")).toMatchObject({ revoked_at: expect.any(String) });
});
