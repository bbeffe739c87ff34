import { createHash } from "node:crypto";
import { FIRST_WORKSPACE } from "../app/workspaces.ts";
import { newFile } from "../core/ports/records.testsuite.ts";
import { message, newSession, START, uniqueId } from "../core/ports/store.testsuite.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import type { Body, World } from "./world.testsuite.ts";

/** Every list of the API, and how to put rows into it that are all of the same millisecond. */

const TIME = new Date(START).toISOString();

/** A list with something in it. */
export interface Filled {
  /** With the query of the list, if it has one. */
  readonly path: string;
  /** Puts in the row with this number; the ids of rows are in no order. */
  readonly insert: (tx: StoreTransaction, number: number) => Promise<unknown>;
  /** As the list shows the row's id. */
  readonly idOf: (number: number) => string;
  /** Of who may see the list, if it is not for everybody. */
  readonly key?: string;
}

export type Item = Body & { readonly path: string; readonly version: number };

export interface List {
  readonly name: string;
  readonly open: (world: World) => Promise<Filled>;
  /** What an item of the list is known by; its id unless told. */
  readonly keyOf?: (item: Item) => string;
}

/** Ids by number: always the same for a list, and in no order. */
function idFor(prefix: string): (number: number) => string {
  const salt = uniqueId(prefix);
  return (number) =>
    `${prefix}_${createHash("sha256").update(`${salt} ${number}`).digest("hex").slice(0, 22)}`;
}

export const LISTS: readonly List[] = [
  {
    name: "agents",
    open: async (world) => {
      const { body } = await world.request("POST", "/v1/agents", { name: "a", model: "m" });
      const template = await world.store.agents.find(world.workspaceId, body.id);
      if (template === undefined) throw new Error("there is no agent");
      const idOf = idFor("agent");
      const insert = (tx: StoreTransaction, number: number) =>
        tx.agents.put({ ...template, id: idOf(number) });
      await world.store.write((tx) => tx.agents.archive(world.workspaceId, body.id, TIME));
      return { path: "/v1/agents", insert, idOf };
    },
  },
  {
    name: "versions of an agent",
    open: async (world) => {
      const { body } = await world.request("POST", "/v1/agents", { name: "a", model: "m" });
      const template = await world.store.agents.find(world.workspaceId, body.id);
      if (template === undefined) throw new Error("there is no agent");
      return {
        path: `/v1/agents/${body.id}/versions`,
        // The first one is there.
        insert: async (tx, number) =>
          number === 0 ? undefined : tx.agents.put({ ...template, version: number + 1 }),
        idOf: (number) => String(number + 1),
      };
    },
    keyOf: ({ version }) => String(version),
  },
  {
    name: "environments",
    open: async (world) => {
      const { body } = await world.request("POST", "/v1/environments", { name: "e" });
      const template = await world.store.environments.find(world.workspaceId, body.id);
      if (template === undefined) throw new Error("there is no environment");
      await world.store.write((tx) => tx.environments.delete(world.workspaceId, body.id));
      const idOf = idFor("env");
      return {
        path: "/v1/environments",
        insert: (tx, number) =>
          tx.environments.insert({ ...template, id: idOf(number), name: `e${number}` }),
        idOf,
      };
    },
  },
  { name: "sessions", open: (world) => openSessions(world, "desc") },
  { name: "sessions, the oldest first", open: (world) => openSessions(world, "asc") },
  { name: "events", open: (world) => openEvents(world, "asc") },
  { name: "events, the newest first", open: (world) => openEvents(world, "desc") },
  { name: "input that waits", open: (world) => openInbox(world, "asc") },
  { name: "input that waits, the newest first", open: (world) => openInbox(world, "desc") },
  {
    name: "events of a thread",
    open: async (world) => {
      const session = newSession({ workspace_id: world.workspaceId });
      await world.store.write((tx) => tx.sessions.insert(session));
      const { id, thread_id } = session;
      return {
        ...eventsOf(world, session),
        path: `/v1/sessions/${id}/threads/${thread_id}/events`,
      };
    },
  },
  {
    name: "what a session's sandboxes did over the network",
    open: async (world) => {
      const session = newSession({ workspace_id: world.workspaceId });
      await world.store.write((tx) => tx.sessions.insert(session));
      const key = { workspaceId: world.workspaceId, sessionId: session.id };
      const idOf = idFor("sevt");
      return {
        path: `/v1/drover/sessions/${session.id}/egress`,
        insert: (tx, number) =>
          tx.events.appendReceipts(key, [
            {
              ...{ id: idOf(number), type: "drover.egress", thread_id: session.thread_id },
              ...{ cross_posted: false, public: {}, private: { call_id: "sevt_1", records: [] } },
            },
          ]),
        idOf,
      };
    },
  },
  {
    name: "uses of credentials",
    open: async (world) => {
      const idOf = idFor("vuse");
      return {
        path: "/v1/drover/credential_uses",
        insert: (tx, number) =>
          tx.credentialUses.add(
            {
              ...{ workspace_id: world.workspaceId, session_id: "sesn_1", api_key_id: null },
              ...{ vault_id: "vlt_1", credential_id: `vcrd_${number}`, host: "a.example.com" },
              ...{ purpose: "egress", verdict: "released", reason: "" },
            },
            { id: idOf(number), releases: 1, requests: 0 },
          ),
        idOf,
      };
    },
  },
  {
    name: "resources of a session",
    open: async (world) => {
      const session = newSession({ workspace_id: world.workspaceId });
      await world.store.write((tx) => tx.sessions.insert(session));
      const key = { workspaceId: world.workspaceId, sessionId: session.id };
      const idOf = idFor("sesrsc");
      const resources: Record<string, unknown>[] = [];
      return {
        path: `/v1/sessions/${session.id}/resources`,
        insert: async (tx, number) => {
          resources.push({
            ...{ id: idOf(number), type: "file", file_id: "file_1", mount_path: `/${number}` },
            ...{ created_at: TIME, updated_at: TIME },
          });
          // They are one value of the session's: of many, it is written with every eighth.
          const isWritten = number % 8 === 7 || number >= 1_000;
          if (isWritten) await tx.sessions.update(key, { resources });
        },
        idOf,
      };
    },
  },
  {
    name: "files",
    open: async ({ workspaceId }) => {
      const idOf = idFor("file");
      return {
        path: "/v1/files",
        insert: (tx, number) =>
          tx.files.insert(newFile({ workspace_id: workspaceId, id: idOf(number) })),
        idOf,
      };
    },
  },
  {
    name: "skills",
    open: async ({ workspaceId }) => {
      const idOf = idFor("skill");
      return {
        path: "/v1/skills",
        insert: (tx, number) =>
          tx.skills.put({
            ...{ workspace_id: workspaceId, id: idOf(number), name: "s", display_name: "s" },
            ...{ latest_version_id: "skver_1", created_at: TIME, updated_at: TIME },
          }),
        idOf,
      };
    },
  },
  {
    name: "versions of a skill",
    open: async ({ workspaceId, store }) => {
      const id = uniqueId("skill");
      const idOf = idFor("skver");
      await store.write((tx) =>
        tx.skills.put({
          ...{ workspace_id: workspaceId, id, name: "s", display_name: "s" },
          ...{ latest_version_id: idOf(0), created_at: TIME, updated_at: TIME },
        }),
      );
      return {
        path: `/v1/skills/${id}/versions`,
        insert: (tx, number) =>
          tx.skills.insertVersion({
            ...{ workspace_id: workspaceId, skill_id: id, id: idOf(number), description: "d" },
            ...{ sha256: "a".repeat(64), size_bytes: 1, created_at: TIME },
          }),
        idOf,
      };
    },
  },
  {
    name: "API keys",
    open: async ({ workspaceId }) => {
      const idOf = idFor("apikey");
      return {
        path: "/v1/drover/api_keys",
        insert: (tx, number) =>
          tx.apiKeys.insert({
            ...{ workspace_id: workspaceId, id: idOf(number), name: "k", role: "developer" },
            ...{ key_sha256: idOf(number), created_at: TIME, revoked_at: null },
          }),
        idOf,
      };
    },
  },
  {
    name: "workspaces",
    open: async (world) => {
      const { key } = await world.addKey("admin", FIRST_WORKSPACE);
      const idOf = idFor("wrkspc");
      return {
        path: "/v1/drover/workspaces",
        insert: (tx, number) =>
          tx.workspaces.insert({ id: idOf(number), name: "w", created_at: TIME }),
        idOf,
        key,
      };
    },
  },
  {
    name: "vaults",
    open: async ({ workspaceId }) => {
      const idOf = idFor("vlt");
      return {
        path: "/v1/vaults",
        insert: (tx, number) =>
          tx.vaults.insert({
            ...{ workspace_id: workspaceId, id: idOf(number), display_name: "v", metadata: {} },
            ...{ created_at: TIME, updated_at: TIME, archived_at: null },
          }),
        idOf,
      };
    },
  },
  {
    name: "credentials",
    open: async (world) => {
      const vault = await world.request("POST", "/v1/vaults", { display_name: "v" });
      const path = `/v1/vaults/${vault.body.id}/credentials`;
      const auth = { type: "static_bearer", mcp_server_url: "https://a.test", token: "secret" };
      const { body } = await world.request("POST", path, { auth });
      const { workspaceId, store } = world;
      const template = await store.credentials.find(workspaceId, vault.body.id, body.id);
      if (template === undefined) throw new Error("there is no credential");
      await store.write((tx) => tx.credentials.delete(workspaceId, body.id));
      const idOf = idFor("vcrd");
      return {
        path,
        insert: (tx, number) => {
          const row = { ...template, id: idOf(number), auth_key: `key ${number}` };
          return tx.credentials.insert(row, { token: "sealed" });
        },
        idOf,
      };
    },
  },
  {
    name: "memory stores",
    open: async ({ workspaceId }) => {
      const idOf = idFor("memstore");
      return {
        path: "/v1/memory_stores",
        insert: (tx, number) =>
          tx.memoryStores.insert({
            ...{ workspace_id: workspaceId, id: idOf(number), name: "n", description: "" },
            ...{ metadata: {}, created_at: TIME, updated_at: TIME, archived_at: null },
          }),
        idOf,
      };
    },
  },
  { name: "memories", open: (world) => openMemories(world, (name) => `/${name}`, "") },
  {
    name: "folders of memories",
    open: (world) => openMemories(world, (name) => `/${name}/${name}`, "?depth=1"),
    keyOf: ({ path }) => path.slice(1, -1),
  },
  {
    name: "versions of memories",
    open: async (world) => {
      const { path, ...rest } = await openMemories(world, (name) => `/${name}`, "");
      const versionIdOf = (number: number) => rest.idOf(number).replace("mem_", "memver_");
      return { ...rest, path: path.replace("/memories", "/memory_versions"), idOf: versionIdOf };
    },
  },
];

export async function openSessions({ workspaceId }: World, order: string): Promise<Filled> {
  const idOf = idFor("sesn");
  return {
    path: `/v1/sessions?order=${order}`,
    insert: (tx, number) =>
      tx.sessions.insert(newSession({ workspace_id: workspaceId, id: idOf(number) })),
    idOf,
  };
}

async function openEvents(world: World, order: string): Promise<Filled> {
  const session = newSession({ workspace_id: world.workspaceId });
  await world.store.write((tx) => tx.sessions.insert(session));
  return { ...eventsOf(world, session), path: `/v1/sessions/${session.id}/events?order=${order}` };
}

function eventsOf({ workspaceId }: World, session: { id: string; thread_id: string }) {
  const key = { workspaceId, sessionId: session.id };
  const idOf = idFor("sevt");
  return {
    insert: (tx: StoreTransaction, number: number) =>
      tx.events.appendReceipts(key, [{ ...message("m", session.thread_id), id: idOf(number) }]),
    idOf,
  };
}

async function openInbox(world: World, order: string): Promise<Filled> {
  const session = newSession({ workspace_id: world.workspaceId });
  await world.store.write((tx) => tx.sessions.insert(session));
  const key = { workspaceId: world.workspaceId, sessionId: session.id };
  const idOf = idFor("sevt");
  return {
    path: `/v1/sessions/${session.id}/events?order=${order}`,
    insert: (tx, number) =>
      tx.events.accept(key, [{ ...message("m", session.thread_id), id: idOf(number) }]),
    idOf,
  };
}

async function openMemories(
  world: World,
  pathOf: (name: string) => string,
  query: string,
): Promise<Filled> {
  const { body } = await world.request("POST", "/v1/memory_stores", { name: "n" });
  const idOf = idFor("mem");
  const insert = (tx: StoreTransaction, number: number) => {
    const id = idOf(number);
    const memory = {
      ...{ workspace_id: world.workspaceId, memory_store_id: body.id, id, path: pathOf(id) },
      ...{ memory_version_id: id.replace("mem_", "memver_"), content: "text" },
      ...{ content_sha256: "a".repeat(64), content_size_bytes: 4 },
      ...{ created_at: TIME, updated_at: TIME },
    };
    return tx.memoryStores.insertMemory(memory, { type: "api_actor", api_key_id: "apikey_1" });
  };
  return { path: `/v1/memory_stores/${body.id}/memories${query}`, insert, idOf };
}
