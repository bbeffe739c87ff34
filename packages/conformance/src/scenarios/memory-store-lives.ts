import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { accepted, all, assertHas, assertRefused, assertTime, refused } from "../support/expect.ts";
import { newSession } from "../support/fixtures.ts";
import { newStore, storesOf } from "../support/memory.ts";

const MISSING = { status: 404, type: "not_found_error" };
const INVALID = { status: 400, type: "invalid_request_error" };

export const memoryStoreLives: readonly Scenario[] = [
  scenario(
    "an archived memory store is read, emptied and deleted, and never written to",
    {
      verifies: [
        "memory-stores.archive.final",
        "memory-stores.archived.create",
        "memory-stores.archived.update-memory",
        "memory-stores.archived.update",
        "memory-stores.archived.read",
        "memory-stores.archived.delete-memory",
        "memory-stores.archived.redact",
        "memory-stores.archived.delete",
      ],
      rows: [105],
    },
    async (t) => {
      const stores = storesOf(t);
      const { id, inStore, create, memories, versions } = await newStore(t);
      const memory = await create("/a", "1");
      await memories.update(memory.id, { ...inStore, content: "2" });
      await stores.archive(id);
      await refused(create("/b"), INVALID);
      await refused(memories.update(memory.id, { ...inStore, content: "3" }), INVALID);
      await refused(memories.update(memory.id, { ...inStore, path: "/c" }), INVALID);
      await refused(stores.update(id, { name: "n" }), INVALID);
      assertTime((await stores.retrieve(id)).archived_at);
      assert.equal((await memories.retrieve(memory.id, inStore)).content, "2");
      assert.equal((await all(memories.list(id))).length, 1);
      const first = await versions.retrieve(memory.memory_version_id, inStore);
      assert.equal(first.content, "1");
      assert.equal((await versions.redact(first.id, inStore)).content, null);
      await memories.delete(memory.id, inStore);
      assert.equal((await all(versions.list(id))).length, 3);
      await stores.delete(id);
    },
  ),

  scenario(
    "an archived memory store is not attached to a session, another one is",
    {
      verifies: ["memory-stores.archived.attach"],
      rows: [105],
    },
    async (t) => {
      const { id } = await newStore(t);
      const resources = [{ type: "memory_store" as const, memory_store_id: id }];
      await newSession(t, { resources });
      await storesOf(t).archive(id);
      await refused(newSession(t, { resources }), { status: 400, says: new RegExp(id) });
    },
  ),

  scenario(
    "a memory store is mounted under its name at the time",
    {
      verifies: ["memory-stores.mount.slug", "memory-stores.mount.rename"],
      rows: [105],
    },
    async (t) => {
      const { id } = await storesOf(t).create({ name: "User -- Notes_2" });
      const resources = [{ type: "memory_store" as const, memory_store_id: id }];
      const before = await newSession(t, { resources });
      assertHas(before.resources[0], { mount_path: "/mnt/memory/user-notes-2" });
      await storesOf(t).update(id, { name: "Other" });
      const after = await newSession(t, { resources });
      assertHas(after.resources[0], { mount_path: "/mnt/memory/other" });
      const again = await t.client.beta.sessions.retrieve(before.id);
      assert.deepEqual(again.resources, before.resources);
    },
  ),

  scenario(
    "a deleted memory store takes everything in it along",
    {
      verifies: [
        "memory-stores.delete",
        "memory-stores.delete.gone",
        "memory-stores.delete.memories",
        "memory-stores.delete.versions",
        "memory-stores.unknown",
      ],
      rows: [105],
    },
    async (t) => {
      const stores = storesOf(t);
      const { id, inStore, create, memories, versions } = await newStore(t);
      const kept = await newStore(t);
      const memory = await create("/a");
      const other = await kept.create("/a");
      assert.deepEqual(await stores.delete(id), { id, type: "memory_store_deleted" });
      for (const store of [
        { id, inStore },
        { id: "memstore_0", inStore: { memory_store_id: "memstore_0" } },
      ]) {
        await refused(stores.retrieve(store.id), MISSING);
        await refused(stores.update(store.id, { name: "n" }), MISSING);
        await refused(stores.archive(store.id), MISSING);
        await refused(stores.delete(store.id), MISSING);
        await refused(memories.create(store.id, { path: "/b", content: "" }), MISSING);
        await refused(memories.list(store.id), MISSING);
        await refused(memories.retrieve(memory.id, store.inStore), MISSING);
        await refused(versions.list(store.id), MISSING);
        await refused(versions.retrieve(memory.memory_version_id, store.inStore), MISSING);
      }
      assert.equal((await memories.retrieve(other.id, kept.inStore)).content, "text");
    },
  ),

  scenario(
    "a memory store is nowhere in another workspace",
    { verifies: ["memory-stores.workspace"], rows: [105], needs: ["other-workspace"] },
    async (t) => {
      const { id, inStore, create, memories } = await newStore(t);
      const memory = await create("/a");
      const stranger = t.clientWith({ apiKey: t.key("other-workspace") }).beta.memoryStores;
      await refused(stranger.retrieve(id), MISSING);
      await refused(stranger.delete(id), MISSING);
      await refused(stranger.memories.list(id), MISSING);
      await refused(stranger.memories.retrieve(memory.id, inStore), MISSING);
      await refused(stranger.memories.update(memory.id, { ...inStore, content: "x" }), MISSING);
      await refused(stranger.memoryVersions.list(id), MISSING);
      const listed = await all(stranger.list({ include_archived: true, limit: 1000 }));
      assert.equal(
        listed.some((store) => store.id === id),
        false,
      );
      assert.equal((await memories.retrieve(memory.id, inStore)).content, "text");
    },
  ),

  scenario(
    "the endpoints of memory are opened by either beta or none, and not by both",
    {
      verifies: [
        "memory-stores.beta.memory",
        "memory-stores.beta.agents",
        "memory-stores.beta.none",
        "memory-stores.beta.both",
      ],
      rows: [105],
    },
    async (t) => {
      const { id, path } = await newStore(t);
      const memory = "agent-memory-2026-07-22";
      const agents = "managed-agents-2026-04-01";
      const addresses = [
        `/v1/memory_stores/${id}`,
        path,
        `/v1/memory_stores/${id}/memory_versions`,
      ];
      for (const address of addresses) {
        accepted(await t.request("GET", address));
        for (const beta of [memory, agents, `zz-1,${memory}`]) {
          accepted(await t.request("GET", address, { headers: { "anthropic-beta": beta } }));
        }
        for (const beta of [`${agents},${memory}`, `${memory}, ${agents}`]) {
          const answer = await t.request("GET", address, { headers: { "anthropic-beta": beta } });
          assertRefused(answer, { ...INVALID, says: /beta/ });
        }
      }
      await refused(storesOf(t).retrieve(id, { betas: [agents] }), INVALID);
    },
  ),
];
