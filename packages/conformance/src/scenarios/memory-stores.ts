import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { accepted, all, assertHas, assertRefused, assertTime, refused } from "../support/expect.ts";
import { newStore, storesOf } from "../support/memory.ts";

const INVALID = { status: 400, type: "invalid_request_error" };

export const memoryStores: readonly Scenario[] = [
  scenario(
    "a memory store comes back as it was made, with its defaults",
    {
      verifies: [
        "memory-stores.object",
        "memory-stores.object.times",
        "memory-stores.retrieve",
        "memory-stores.name.repeated",
        "memory-stores.description.default",
        "memory-stores.metadata",
      ],
      rows: [105],
    },
    async (t) => {
      const stores = storesOf(t);
      const name = t.unique("store");
      const made = await stores.create({ name });
      assertHas(made, {
        ...{ type: "memory_store", name, description: "", metadata: {}, archived_at: null },
      });
      assert.match(made.id, /^memstore_/);
      assertTime(made.created_at);
      assertTime(made.updated_at);
      assert.deepEqual(await stores.retrieve(made.id), made);
      const fields = { description: "What is known", metadata: { owner: "ann", empty: "" } };
      const other = await stores.create({ name, ...fields });
      assertHas(other, { name, ...fields });
      assert.deepEqual(Object.keys(other.metadata).sort(), ["empty", "owner"]);
      assert.notEqual(other.id, made.id);
    },
  ),

  scenario(
    "what a memory store is made of has limits",
    {
      verifies: [
        "memory-stores.name.required",
        "memory-stores.name.length",
        "memory-stores.name.control",
        "memory-stores.description.max",
        "memory-stores.metadata.pairs",
        "memory-stores.metadata.keys",
        "memory-stores.metadata.values",
        "memory-stores.unknown-field",
        "memory-stores.update.limits",
      ],
      rows: [105],
    },
    async (t) => {
      const pairs = (count: number) =>
        Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, "v"]));
      const good = [
        { name: "n" },
        { name: "n".repeat(255) },
        { name: "Notes – 日本 🎉" },
        { name: "n", description: "d".repeat(1024) },
        { name: "n", metadata: pairs(16) },
        { name: "n", metadata: { ["k".repeat(64)]: "v".repeat(512) } },
      ];
      const bad: readonly (readonly [object, RegExp])[] = [
        [{ description: "d" }, /name/],
        [{ name: "" }, /name/],
        [{ name: "n".repeat(256) }, /name/],
        [{ name: "a\nb" }, /name/],
        [{ name: "a\u0085b" }, /name/],
        [{ name: "n", description: "d".repeat(1025) }, /description/],
        [{ name: "n", metadata: pairs(17) }, /metadata/],
        [{ name: "n", metadata: { "": "v" } }, /metadata/],
        [{ name: "n", metadata: { ["k".repeat(65)]: "v" } }, /metadata/],
        [{ name: "n", metadata: { k: "v".repeat(513) } }, /metadata/],
        [{ name: "n", colour: "red" }, /colour/],
      ];
      const { id } = accepted(
        await t.request("POST", "/v1/memory_stores", { body: { name: "n" } }),
      );
      for (const body of good) {
        accepted(await t.request("POST", "/v1/memory_stores", { body }));
        accepted(await t.request("POST", `/v1/memory_stores/${id}`, { body }));
        const cleared = Object.fromEntries(
          Object.keys(("metadata" in body && body.metadata) || {}).map((key) => [key, null]),
        );
        await t.request("POST", `/v1/memory_stores/${id}`, { body: { metadata: cleared } });
      }
      for (const [body, says] of bad) {
        const refusal = { ...INVALID, says };
        assertRefused(await t.request("POST", "/v1/memory_stores", { body }), refusal);
        if (!("name" in body)) continue;
        assertRefused(await t.request("POST", `/v1/memory_stores/${id}`, { body }), refusal);
      }
    },
  ),

  scenario(
    "an update of a memory store changes what it names and keeps the rest",
    {
      verifies: [
        "memory-stores.update.name",
        "memory-stores.update.description",
        "memory-stores.update.clear",
        "memory-stores.update.metadata.set",
        "memory-stores.update.metadata.remove",
        "memory-stores.update.metadata.keep",
        "memory-stores.update.metadata.max",
        "memory-stores.update.null",
      ],
      rows: [105],
    },
    async (t) => {
      const stores = storesOf(t);
      const fields = { name: t.unique("store"), description: "d", metadata: { a: "1", b: "2" } };
      const { id } = await stores.create(fields);
      const name = t.unique("renamed");
      assertHas(await stores.update(id, { name }), { ...fields, name });
      assertHas(await stores.update(id, { description: "new" }), { name, description: "new" });
      const patched = await stores.update(id, { metadata: { a: null, b: "3", c: "4" } });
      assert.deepEqual(patched.metadata, { b: "3", c: "4" });
      assertHas(patched, { name, description: "new" });
      const kept = await stores.update(id, { name: null, description: null, metadata: null });
      assertHas(kept, { name, description: "new", metadata: { b: "3", c: "4" } });
      assert.equal((await stores.update(id, { description: "" })).description, "");
      const more = (count: number) =>
        Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, "v"]));
      const tooMany = stores.update(id, { metadata: more(15) });
      await refused(tooMany, { ...INVALID, says: /metadata/ });
      const full = await stores.update(id, { metadata: more(14) });
      assert.equal(Object.keys(full.metadata).length, 16);
      assert.deepEqual(await stores.retrieve(id), full);
    },
  ),

  scenario(
    "a memory store tells when it was changed itself",
    {
      verifies: [
        "memory-stores.updated-at.fields",
        "memory-stores.updated-at.archive",
        "memory-stores.updated-at.memories",
      ],
      rows: [105],
    },
    async (t) => {
      const stores = storesOf(t);
      const { id, inStore, create, memories } = await newStore(t);
      const made = await stores.retrieve(id);
      const memory = await create("/a");
      await memories.update(memory.id, { ...inStore, content: "new" });
      await memories.delete(memory.id, inStore);
      assert.equal((await stores.retrieve(id)).updated_at, made.updated_at);
      const changed = await stores.update(id, { description: "d" });
      assert.ok(Date.parse(changed.updated_at) > Date.parse(made.updated_at));
      assert.equal(changed.created_at, made.created_at);
      assert.deepEqual(await stores.retrieve(id), changed);
      const archived = await stores.archive(id);
      assert.ok(Date.parse(archived.updated_at) > Date.parse(changed.updated_at));
    },
  ),

  scenario(
    "memory stores are listed by time and page, archived ones on demand",
    {
      verifies: [
        "memory-stores.list.archived",
        "memory-stores.list.created",
        "memory-stores.list.pages",
        "memory-stores.archive",
        "memory-stores.archive.again",
      ],
      rows: [105],
    },
    async (t) => {
      const stores = storesOf(t);
      const made: Awaited<ReturnType<typeof stores.create>>[] = [];
      for (let count = 0; count < 4; count += 1) {
        made.push(await stores.create({ name: t.unique("listed") }));
      }
      const [first, second] = made;
      const last = made.at(-1);
      assert.ok(first !== undefined && second !== undefined && last !== undefined);
      const archived = await stores.archive(second.id);
      assertTime(archived.archived_at);
      assert.deepEqual(await stores.archive(second.id), archived);
      const within = { "created_at[gte]": first.created_at, "created_at[lte]": last.created_at };
      const listed = async (query: object) => {
        const found = await all(stores.list({ limit: 2, ...query }));
        const ids = found.map(({ id }) => id);
        assert.equal(new Set(ids).size, ids.length);
        return made.map(({ id }) => ids.includes(id));
      };
      assert.deepEqual(await listed(within), [true, false, true, true]);
      const whole = { ...within, include_archived: true };
      assert.deepEqual(await listed(whole), [true, true, true, true]);
      const before = {
        "created_at[lte]": new Date(Date.parse(first.created_at) - 1).toISOString(),
      };
      assert.deepEqual(await listed({ ...before, limit: 1000 }), [false, false, false, false]);
      const after = { "created_at[gte]": new Date(Date.parse(last.created_at) + 1).toISOString() };
      assert.deepEqual(await listed({ ...after, limit: 1000 }), [false, false, false, false]);
    },
  ),
];
