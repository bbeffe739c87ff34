import { createHash } from "node:crypto";
import type Anthropic from "@anthropic-ai/sdk";
import type { Target } from "../target.ts";

type Stores = Anthropic["beta"]["memoryStores"];
export type MemoryVersion = Awaited<ReturnType<Stores["memoryVersions"]["retrieve"]>>;

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export function storesOf(t: Target): Stores {
  return t.client.beta.memoryStores;
}

/** A store of the scenario's own, what its calls need, and short ways to make memories in it. */
export async function newStore(t: Target) {
  const stores = storesOf(t);
  const { id } = await stores.create({ name: t.unique("memory") });
  const inStore = { memory_store_id: id };
  return {
    id,
    inStore,
    /** The address of its memories, for raw requests. */
    path: `/v1/memory_stores/${id}/memories`,
    memories: stores.memories,
    versions: stores.memoryVersions,
    create: (path: string, content: string | null = "text") =>
      stores.memories.create(id, { path, content }),
    /** `created /a`, … of the memory or of all, the newest first. */
    history: async (memory_id?: string): Promise<string[]> => {
      const seen: string[] = [];
      const filter = memory_id === undefined ? {} : { memory_id };
      for await (const version of stores.memoryVersions.list(id, filter)) {
        seen.push(`${version.operation} ${version.path}`);
      }
      return seen;
    },
  };
}
