import type { Told } from "../memory/write-back.ts";
import type { MemoryMount, UnstoredFile, UnstoredReason } from "../ports/hands.ts";
import type { EventDraft } from "../session/log-event.ts";
import { oneLine } from "./one-line.ts";

/** Files named of one kind; the rest is counted. */
const NAMED_MAX = 20;
const PATH_LENGTH_MAX = 300;

const WHY: Readonly<Record<UnstoredReason, string>> = {
  too_large: "a memory has at most 102400 bytes",
  not_text: "a memory is text in UTF-8 without NUL",
  bad_path: "the name is not one that a memory may have",
  not_a_file: "only regular files become memories, no links and no devices",
  unreadable: "it could not be read",
  changing: "it was being written; the next call stores it",
  deferred: "there was too much for one result; the next call stores it",
  too_many: "there are too many files below it, and not all were looked at",
  not_shown: "it is in the store, and could not be written here",
};

/** What came of one store's changes, for the model. */
export interface MemoryTold {
  readonly mount: MemoryMount;
  readonly told: readonly Told[];
  readonly unstored: readonly Pick<UnstoredFile, "path" | "reason">[];
}

/** What the model is to be told of memories after a call; undefined for nothing. */
export function memoryNote(stores: readonly MemoryTold[]): string | undefined {
  const lines = stores.flatMap(({ mount, told, unstored }) => {
    const shown = (path: string) => oneLine(`${mount.mount_path}${path}`, PATH_LENGTH_MAX);
    return [
      ...limited(told.map((each) => toldLine(each, shown))),
      ...limited(unstored.map(({ path, reason }) => notStored(shown(path), WHY[reason]))),
    ];
  });
  if (lines.length === 0) return undefined;
  return ["Of the memory stores:", ...lines.map((line) => `- ${line}`)].join("\n");
}

/** The drafts with the notes at the end of the results of their calls. */
export function withMemoryNotes(
  drafts: readonly EventDraft[],
  notes: ReadonlyMap<string, string>,
): readonly EventDraft[] {
  if (notes.size === 0) return drafts;
  return drafts.map((draft) => {
    if (draft.type !== "agent.tool_result") return draft;
    const text = notes.get(draft.public.tool_use_id);
    if (text === undefined) return draft;
    const content = [...(draft.public.content ?? []), { type: "text" as const, text }];
    return { ...draft, public: { ...draft.public, content } };
  });
}

function toldLine(told: Told, shown: (path: string) => string): string {
  switch (told.type) {
    case "beside":
      return `${shown(told.path)} was changed by others meanwhile. Theirs is kept there; yours is now ${shown(told.beside)}. Merge them if need be.`;
    case "not_deleted":
      return `${shown(told.path)} was changed by others meanwhile, so it was not deleted and is there again.`;
    case "refused":
      return notStored(shown(told.path), told.reason);
  }
}

function notStored(path: string, why: string): string {
  return `${path} is not stored: ${why}.`;
}

function limited(lines: readonly string[]): readonly string[] {
  const more = lines.length - NAMED_MAX;
  return more > 0 ? [...lines.slice(0, NAMED_MAX), `and ${more} more such files`] : lines;
}
