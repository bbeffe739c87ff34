import { createHash } from "node:crypto";
import { blocksOf, field, isList, isObject } from "./rules/shape.ts";
import { type PromptPiece, promptPieces, tokensAtEnds, withoutMark } from "./tokens.ts";
import type { Json, JsonObject, ModelSpec } from "./types.ts";

const TTL_MS = { "5m": 5 * 60_000, "1h": 60 * 60_000 } as const;
type Ttl = keyof typeof TTL_MS;

/** Pieces looked at from a mark backwards, the marked one included. */
const LOOKBACK = 20;
const ENTRIES_MAX = 100_000;

/** Tokens of one prompt, by what they were for the cache; the sum is the prompt. */
export interface CacheUse {
  /** Behind the last mark. */
  readonly input: number;
  readonly read: number;
  readonly created: Readonly<Record<Ttl, number>>;
}

interface Entry {
  readonly ttl: Ttl;
  readonly untilMs: number;
}

interface Mark {
  readonly at: number;
  readonly ttl: Ttl;
}

/**
 * The prompt cache, by the rules of
 * https://platform.claude.com/docs/en/build-with-claude/prompt-caching, each of which has a test:
 *
 * - only a marked prefix is written; a hit needs every byte before it to be the same;
 * - the order is tools, system, messages; a change of the thinking setting or of `tool_choice` loses
 *   the messages, another model or speed everything;
 * - from a mark the cache looks back over 20 blocks for the longest prefix that it has;
 * - a prefix shorter than the model's minimum is not cached, without an error;
 * - an entry lives for 5 minutes, or an hour, from its last use.
 */
export class PromptCache {
  readonly #entries = new Map<string, Entry>();
  readonly #now: () => number;

  /** `now`: milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Looks the prompt up and writes its marked prefixes: to be called once it is being answered. */
  use(body: JsonObject, model: ModelSpec): CacheUse {
    const pieces = promptPieces(body);
    const ends = tokensAtEnds(pieces);
    const total = Math.max(1, ends.at(-1) ?? 1);
    const marks = marksOf(pieces, body).filter(({ at }) => (ends[at] ?? 0) >= model.cacheTokensMin);
    if (marks.length === 0) return { input: total, read: 0, created: { "5m": 0, "1h": 0 } };
    const keys = prefixKeys(pieces, body);
    const hit = this.#longest(keys, marks);
    const created = { "5m": 0, "1h": 0 };
    let done = hit < 0 ? 0 : (ends[hit] ?? 0);
    const read = done;
    for (const { at, ttl } of marks) {
      this.#write(keys[at] ?? "", ttl);
      const end = ends[at] ?? 0;
      if (end <= done) continue;
      created[ttl] += end - done;
      done = end;
    }
    return { input: total - done, read, created };
  }

  /** The last piece of the longest prefix that a mark finds; -1 for none. Found is used. */
  #longest(keys: readonly string[], marks: readonly Mark[]): number {
    for (const { at } of marks.toReversed()) {
      for (let place = at; place >= 0 && place > at - LOOKBACK; place--) {
        const key = keys[place] ?? "";
        const entry = this.#entries.get(key);
        if (entry === undefined || entry.untilMs <= this.#now()) continue;
        this.#write(key, entry.ttl);
        return place;
      }
    }
    return -1;
  }

  #write(key: string, ttl: Ttl): void {
    const known = this.#entries.get(key);
    const kept = known !== undefined && known.untilMs > this.#now() && known.ttl === "1h";
    const longest = kept ? "1h" : ttl;
    this.#entries.delete(key);
    this.#entries.set(key, { ttl: longest, untilMs: this.#now() + TTL_MS[longest] });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > ENTRIES_MAX && oldest !== undefined) this.#entries.delete(oldest);
  }
}

/** A mark within a tool result's content marks the result. */
function marksOf(pieces: readonly PromptPiece[], body: JsonObject): readonly Mark[] {
  const marks = pieces.flatMap(({ block }, at): readonly Mark[] => {
    const inner = blocksOf(block["type"] === "tool_result" ? block["content"] : [], "");
    const mark = [block, ...inner.map((view) => view.block)].find(isMarked);
    return mark === undefined ? [] : [{ at, ttl: ttlOf(mark["cache_control"]) }];
  });
  // One at the top of the request is for its last block.
  const automatic = body["cache_control"];
  const last = pieces.length - 1;
  if (automatic == null || marks.some(({ at }) => at === last)) return marks;
  return [...marks, { at: last, ttl: ttlOf(automatic) }];
}

function isMarked(block: JsonObject): boolean {
  return block["cache_control"] != null;
}

function ttlOf(mark: Json | undefined): Ttl {
  return field(mark, "ttl") === "1h" ? "1h" : "5m";
}

/** A key for the prompt up to and with each piece. */
function prefixKeys(pieces: readonly PromptPiece[], body: JsonObject): readonly string[] {
  let key = digest(JSON.stringify([body["model"], body["speed"] ?? null]));
  let isInMessages = false;
  return pieces.map(({ level, role, block }) => {
    if (level === "messages" && !isInMessages) {
      isInMessages = true;
      key = digest(key + JSON.stringify([body["thinking"] ?? null, body["tool_choice"] ?? null]));
    }
    key = digest(`${key}${level}${role}${JSON.stringify(unmarked(block))}`);
    return key;
  });
}

function unmarked(block: JsonObject): Json {
  const content = block["content"];
  if (!isList(content)) return withoutMark(block);
  const inner = content.map((item) => (isObject(item) ? withoutMark(item) : item));
  return withoutMark({ ...block, content: inner });
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
