import type { ModelBlock, ModelMessage } from "../ports/model.ts";

/** What the Messages API does not take in the id of a tool use. */
const REFUSED = /[^a-zA-Z0-9_-]/g;
/** Characters of a tool's name in a conversation, whether there is such a tool or not. */
const NAME_LENGTH_MAX = 200;

/**
 * The same messages with an id of its own for every tool use, and for its result. Some servers count
 * their ids anew in each response, or have characters in them that the API refuses; some models call
 * a tool by a whole sentence. What the API takes stays as it is, and nothing changes when the
 * conversation grows.
 */
export function withUsableCalls(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  const taken = new Set<string>();
  let named = new Map<string, string>();
  const withUsableId = (block: ModelBlock): ModelBlock => {
    if (block.type === "tool_use") {
      const id = String(block["id"]);
      const usable = freeId(id, taken);
      taken.add(usable);
      named.set(id, usable);
      const name = usableName(String(block["name"]));
      return usable === id && name === block["name"] ? block : { ...block, id: usable, name };
    }
    if (block.type !== "tool_result") return block;
    const id = String(block["tool_use_id"]);
    const usable = named.get(id) ?? id;
    return usable === id ? block : { ...block, tool_use_id: usable };
  };
  return messages.map(({ role, content }) => {
    // Results follow directly, so those of the response before are all given.
    if (role === "assistant") named = new Map();
    return { role, content: content.map(withUsableId) };
  });
}

function freeId(id: string, taken: ReadonlySet<string>): string {
  const base = id.replaceAll(REFUSED, "_") || "toolu";
  if (!taken.has(base)) return base;
  // Each round meets another of the ids that are taken, so there are at most as many.
  for (let number = taken.size; ; number++) {
    const numbered = `${base}_${number}`;
    if (!taken.has(numbered)) return numbered;
  }
}

function usableName(name: string): string {
  return name === "" ? "unnamed" : name.slice(0, NAME_LENGTH_MAX).toWellFormed();
}
