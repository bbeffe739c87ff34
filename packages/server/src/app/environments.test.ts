import { EnvironmentCreateParams, EnvironmentUpdateParams } from "@drover/api";
import { expect, test } from "vitest";
import { ManualClock } from "../hands/fake/manual-clock.ts";
import { newId } from "../lib/new-id.ts";
import { openMemoryStore } from "../store/sqlite/memory-store.testsuite.ts";
import { createEnvironments } from "./environments.ts";
import { createCursors } from "./pagination.ts";
import type { Principal } from "./principal.ts";

const principal: Principal = { workspaceId: "wrkspc_a", keyId: "apikey_a", role: "admin" };
const stranger: Principal = { ...principal, workspaceId: "wrkspc_b" };

function world() {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock, announcements: { publish: () => undefined } });
  const cursors = createCursors({ key: new Uint8Array(32) });
  const environments = createEnvironments({ store, cursors, newId });
  const create = (fields: object = {}, who = principal) =>
    store.write((tx) =>
      environments.create(tx, who, EnvironmentCreateParams.parse({ name: "e", ...fields })),
    );
  const update = (id: string, fields: object) =>
    store.write((tx) =>
      environments.update(tx, principal, id, EnvironmentUpdateParams.parse(fields)),
    );
  const archive = (id: string) => store.write((tx) => environments.archive(tx, principal, id));
  const remove = (id: string, who = principal) =>
    store.write((tx) => environments.delete(tx, who, id));
  return { clock, store, environments, create, update, archive, remove };
}

test("an environment that is made can be read, from its own workspace only", async () => {
  const { clock, environments, create } = world();
  const environment = await create();
  const now = new Date(clock.now()).toISOString();
  expect(environment).toEqual({
    id: expect.stringMatching(/^env_/),
    type: "environment",
    name: "e",
    description: null,
    metadata: {},
    scope: "organization",
    state: "active",
    config: {
      type: "cloud",
      networking: { type: "unrestricted" },
      packages: { type: "packages", apt: [], cargo: [], gem: [], go: [], npm: [], pip: [] },
    },
    created_at: now,
    updated_at: now,
    archived_at: null,
  });
  expect(await environments.retrieve("wrkspc_a", environment.id)).toEqual(environment);
  await expect(environments.retrieve("wrkspc_b", environment.id)).rejects.toThrow(
    `there is no environment ${environment.id}`,
  );
});

test("a name is used once among those not archived of a workspace", async () => {
  const { create, update, archive } = world();
  const first = await create();
  const other = await create({ name: "other" });
  await create({}, stranger);
  const conflict = expect.objectContaining({ type: "conflict_error" });
  await expect(create()).rejects.toThrow(conflict);
  await expect(update(other.id, { name: "e" })).rejects.toThrow(conflict);
  await archive(first.id);
  expect((await create()).name).toBe("e");
});

test("an update changes what it names; one that changes nothing leaves updated_at", async () => {
  const { clock, environments, create, update } = world();
  const before = await create({ description: "d", metadata: { a: "1" } });
  await clock.advance(1000);
  const kept = { name: null, description: "d", config: { type: "cloud" }, metadata: { a: "1" } };
  expect(await update(before.id, kept)).toEqual(before);
  const after = await update(before.id, { name: "f", description: "", metadata: { a: "" } });
  expect(after).toEqual({
    ...before,
    name: "f",
    description: "",
    metadata: {},
    updated_at: new Date(clock.now()).toISOString(),
  });
  expect(await environments.retrieve("wrkspc_a", before.id)).toEqual(after);
});

test("an archived environment cannot be changed, and is listed only when asked for", async () => {
  const { environments, create, update, archive } = world();
  const { id } = await create();
  const archived = await archive(id);
  expect(archived).toMatchObject({ state: "archived", archived_at: expect.any(String) });
  expect(await archive(id)).toEqual(archived);
  await expect(update(id, { name: "f" })).rejects.toThrow(
    expect.objectContaining({ code: "environment_archived" }),
  );
  expect((await environments.list("wrkspc_a", {})).data).toEqual([]);
  expect((await environments.list("wrkspc_a", { include_archived: true })).data).toEqual([
    archived,
  ]);
});

test("an unused environment is deleted for good", async () => {
  const { environments, create, remove } = world();
  const { id } = await create();
  await expect(remove(id, stranger)).rejects.toThrow("there is no environment");
  expect(await remove(id)).toEqual({ id, type: "environment_deleted" });
  await expect(environments.retrieve("wrkspc_a", id)).rejects.toThrow("there is no environment");
  await expect(remove(id)).rejects.toThrow("there is no environment");
});

test("an environment with a session is not deleted", async () => {
  const { store, create, remove } = world();
  const { id } = await create();
  await store.write((tx) =>
    tx.sessions.insert({
      workspace_id: "wrkspc_a",
      id: "sesn_1",
      thread_id: "sthr_1",
      hand_id: "hand_1",
      status: "idle",
      title: null,
      metadata: {},
      environment_id: id,
      agent: { id: "agent_1", name: "a", version: 1, system: null, model: { id: "m" }, tools: [] },
      resources: [],
      vault_ids: [],
      budget: null,
      recipe: {
        provider: "bubblewrap",
        base: { type: "host" },
        mounts: [],
        network: { type: "none" },
      },
      totals: { usage: {}, stats: {} },
      created_at: tx.now,
    }),
  );
  await expect(remove(id)).rejects.toThrow(`environment ${id} has sessions`);
});
