import { createHash } from "node:crypto";
import Anthropic from "@anthropic-ai/sdk";
import { openWorld, type World } from "../world.testsuite.ts";

export const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** A store, its memories through the official client, on the app itself. */
export async function openMemories(options: Parameters<typeof openWorld>[0] = {}) {
  const world = await openWorld(options);
  const client = clientOf(world);
  const { id: storeId } = await client.create({ name: "Notes" });
  const inStore = { memory_store_id: storeId };
  return {
    world,
    storeId,
    inStore,
    memories: client.memories,
    versions: client.memoryVersions,
    create: (path: string, content: string | null = "text") =>
      client.memories.create(storeId, { path, content }),
    /** Every item of the list, page by page. */
    paths: async (query: Anthropic.Beta.MemoryStores.MemoryListParams = {}) => {
      const found: string[] = [];
      for await (const { path } of client.memories.list(storeId, query)) found.push(path);
      return found;
    },
    history: async () => {
      const found = [];
      for await (const version of client.memoryVersions.list(storeId)) found.push(version);
      return found.map(({ operation, path }) => `${operation} ${path}`);
    },
  };
}

/** The official client, on the app itself; its memory stores. */
export function clientOf(world: World, key = world.key) {
  const client = new Anthropic({
    apiKey: key,
    baseURL: "http://drover.test",
    maxRetries: 0,
    fetch: async (url, init) => await world.app.request(String(url), init),
  });
  return client.beta.memoryStores;
}

/** Memories `/0001`, `/0002` …, put into the store at once. */
export async function fill({ store, workspaceId }: World, storeId: string, count: number) {
  await store.write(async (tx) => {
    for (let number = 1; number <= count; number += 1) {
      const name = String(number).padStart(4, "0");
      const memory = {
        ...{ workspace_id: workspaceId, memory_store_id: storeId, id: `mem_${name}` },
        ...{ memory_version_id: `memver_${name}`, path: `/${name}`, content: "text" },
        ...{ content_sha256: sha256("text"), content_size_bytes: 4 },
        ...{ created_at: tx.now, updated_at: tx.now },
      };
      await tx.memoryStores.insertMemory(memory, { type: "api_actor", api_key_id: "apikey_1" });
    }
  });
}
