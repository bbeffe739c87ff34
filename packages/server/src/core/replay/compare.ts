import type { ModelBlock } from "../ports/model.ts";

/** What two responses to the same request have in common. */
export interface Comparison {
  /** True if both say the same and call the same. */
  readonly same: boolean;
  readonly text: {
    readonly same: boolean;
    /** How many of their words they share, from 0 to 1; two without a word are alike. */
    readonly similarity: number;
    readonly recorded: string;
    readonly replayed: string;
  };
  readonly tool_calls: {
    /** True if both ask for the same tools with equal inputs, in the same order. */
    readonly same: boolean;
    /** True if the tools at least are the same. */
    readonly same_names: boolean;
    readonly recorded: readonly ShownCall[];
    readonly replayed: readonly ShownCall[];
  };
}

export interface ShownCall {
  readonly name: string;
  /** The input as JSON with sorted keys, cut at some length. */
  readonly input: string;
}

/** Characters of a text or an input that a report shows; what is compared is all of it. */
const SHOWN_MAX = 4_000;
const CALLS_SHOWN_MAX = 50;
/** Levels of an input that are compared. */
const DEPTH_MAX = 64;

/** Thinking is left out: it is for the model alone, and signed by the one that had it. */
export function compareResponses(
  recorded: readonly ModelBlock[],
  replayed: readonly ModelBlock[],
): Comparison {
  const texts = [textOf(recorded), textOf(replayed)] as const;
  const calls = [callsOf(recorded), callsOf(replayed)] as const;
  const sameText = texts[0] === texts[1];
  const sameNames = isSame(
    calls[0].map(({ name }) => name),
    calls[1].map(({ name }) => name),
  );
  const sameCalls =
    sameNames &&
    isSame(
      calls[0].map(({ input }) => input),
      calls[1].map(({ input }) => input),
    );
  return {
    same: sameText && sameCalls,
    text: {
      same: sameText,
      similarity: sameText ? 1 : similarity(texts[0], texts[1]),
      recorded: cut(texts[0]),
      replayed: cut(texts[1]),
    },
    tool_calls: {
      same: sameCalls,
      same_names: sameNames,
      recorded: calls[0].slice(0, CALLS_SHOWN_MAX).map(shownCall),
      replayed: calls[1].slice(0, CALLS_SHOWN_MAX).map(shownCall),
    },
  };
}

function textOf(blocks: readonly ModelBlock[]): string {
  return blocks
    .filter(({ type }) => type === "text")
    .map((block) => String(block["text"] ?? ""))
    .join("\n")
    .trim();
}

function callsOf(blocks: readonly ModelBlock[]): readonly ShownCall[] {
  return blocks
    .filter(({ type }) => type === "tool_use")
    .map((block) => ({
      name: String(block["name"] ?? ""),
      input: JSON.stringify(sorted(block["input"], 0)) ?? "",
    }));
}

/** The order in which a model names its arguments says nothing. */
function sorted(value: unknown, depth: number): unknown {
  if (depth > DEPTH_MAX) return "…";
  if (Array.isArray(value)) return value.map((item) => sorted(item, depth + 1));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
      .map(([key, item]) => [key, sorted(item, depth + 1)]),
  );
}

/** Sørensen and Dice, over words: it takes the time of reading both. */
function similarity(left: string, right: string): number {
  const words = [wordsOf(left), wordsOf(right)] as const;
  const total = words[0].length + words[1].length;
  if (total === 0) return 1;
  const counts = new Map<string, number>();
  for (const word of words[0]) counts.set(word, (counts.get(word) ?? 0) + 1);
  let shared = 0;
  for (const word of words[1]) {
    const left = counts.get(word) ?? 0;
    if (left === 0) continue;
    counts.set(word, left - 1);
    shared += 1;
  }
  return Math.round(((2 * shared) / total) * 1000) / 1000;
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

function isSame(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((one, index) => one === right[index]);
}

function shownCall({ name, input }: ShownCall): ShownCall {
  return { name: cut(name), input: cut(input) };
}

function cut(text: string): string {
  const whole = text.toWellFormed();
  return whole.length <= SHOWN_MAX ? whole : `${whole.slice(0, SHOWN_MAX).toWellFormed()}…`;
}
