import {
  type Memory,
  type MemoryListItem,
  type MemoryListQuery,
  type MemoryView,
  type Page,
  pageLimitMax,
} from "@drover/api";
import { assertFolder, folderBelow } from "../core/memory/path.ts";
import type {
  MemoryRange,
  MemoryRecord,
  MemoryStoreKey,
  MemoryStores,
} from "../core/ports/memory-stores.ts";
import { type Cursors, readForwardPage } from "./pagination.ts";

/** Items of a page that shows contents. */
export const FULL_LIMIT_MAX = 20;

type Item = MemoryRecord | { readonly folder: string };

/**
 * One page of a store's memories by the bytes of their paths. A cursor is a path, or a folder that
 * was listed as one item: what is added before it later is not listed, what is added behind it is.
 */
export async function listMemories(
  { memoryStores, cursors }: { memoryStores: MemoryStores; cursors: Cursors },
  key: MemoryStoreKey,
  query: MemoryListQuery,
): Promise<Page<MemoryListItem>> {
  const { path_prefix: folder = "/", depth = 0, view = "basic" } = query;
  assertFolder(folder, "path_prefix");
  const read = (range: MemoryRange) => memoryStores.listMemories(key, { folder, ...range });
  const page = await readForwardPage<Item, Item>({
    cursors,
    scope: { workspaceId: key.workspaceId, list: `${key.storeId}/memories`, order: "asc" },
    query,
    limitMax: view === "full" ? FULL_LIMIT_MAX : pageLimitMax,
    read: (limit, position) => {
      const range = { limit, after: position?.[0] };
      return depth === 0 ? read(range) : readChildren(folder, read, range);
    },
    positionOf: (item) => [positionOf(item)],
    present: (item) => item,
  });
  const { next_page } = page;
  const records = page.data.flatMap((item) => ("folder" in item ? [] : [item.id]));
  const whole = view === "full" ? await memoryStores.findMemories(key, records) : [];
  const byId = new Map(whole.map((memory) => [memory.id, memory]));
  const data = page.data.flatMap((item): MemoryListItem[] => {
    if ("folder" in item) return [{ type: "memory_prefix", path: item.folder }];
    // One that was deleted since its path was read is not shown.
    const memory = view === "full" ? byId.get(item.id) : item;
    return memory === undefined ? [] : [memoryOf(memory, view)];
  });
  return { data, next_page };
}

/** The memory as the API shows it. */
export function memoryOf(record: MemoryRecord, view: MemoryView): Memory {
  const { workspace_id: _, id, content, ...rest } = record;
  return { id, type: "memory", ...rest, content: view === "full" ? content : null };
}

/**
 * What lies directly in the folder: memories, and folders once each. Every statement goes on behind
 * the last item, past all that is in it if it is a folder, so each finds at least one more.
 */
async function readChildren(
  folder: string,
  read: (range: MemoryRange) => Promise<readonly MemoryRecord[]>,
  { limit, after }: MemoryRange,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  for (let isEnd = false; !isEnd && items.length < limit; ) {
    const last = items.at(-1);
    const records = await read({ limit, after: last === undefined ? after : positionOf(last) });
    items.push(...childrenOf(folder, records));
    isEnd = records.length < limit;
  }
  return items.slice(0, limit);
}

/** The memories as they look from the folder; those of one folder below lie together. */
function childrenOf(folder: string, records: readonly MemoryRecord[]): readonly Item[] {
  const children: Item[] = [];
  let before: string | undefined;
  for (const record of records) {
    const below = folderBelow(folder, record.path);
    if (below === undefined) children.push(record);
    else if (below !== before) children.push({ folder: below });
    before = below;
  }
  return children;
}

function positionOf(item: Item): string {
  return "folder" in item ? item.folder : item.path;
}
