import type { Json } from "../types.ts";
import { DOCS, type Rule, SDK } from "./rule.ts";
import { allBlocks, field, firstOf, isObject, listOf } from "./shape.ts";

const CACHING_DOCS = `${DOCS}/build-with-claude/prompt-caching`;
const MAX_MARKS = 4;

/** Marks for the prompt cache. That thinking takes none is part of the block's shape. */
export const CACHING_RULES: readonly Rule[] = [
  {
    id: "cache-control-shape",
    source: `${SDK} CacheControlEphemeral`,
    description: "A mark is ephemeral, for 5m or 1h.",
    check: ({ body }) =>
      firstOf(marks(body), ({ at, mark }) => {
        if (field(mark, "type") !== "ephemeral") {
          return `${at}.cache_control.type: Input should be 'ephemeral'`;
        }
        const ttl = field(mark, "ttl");
        return ttl === undefined || ttl === "5m" || ttl === "1h"
          ? undefined
          : `${at}.cache_control.ephemeral.ttl: Input should be '5m' or '1h'`;
      }),
  },
  {
    id: "cache-control-count",
    source: CACHING_DOCS,
    description: "A request has at most four marks.",
    check: ({ body }) => {
      const count = marks(body).length;
      return count > MAX_MARKS
        ? `A maximum of ${MAX_MARKS} blocks with cache_control may be provided. Found ${count}.`
        : undefined;
    },
  },
  {
    id: "cache-control-empty-text",
    source: CACHING_DOCS,
    description: "An empty text block takes no mark.",
    check: ({ body }) =>
      firstOf(marks(body), ({ at, text }) =>
        text === "" ? `${at}.text: cache_control cannot be set for empty text blocks` : undefined,
      ),
  },
  {
    id: "cache-control-ttl-order",
    source: "https://github.com/vellum-ai/vellum-assistant/pull/22191",
    description: "Marks for 1h come before marks for 5m, in the order tools, system, messages.",
    check: ({ body }) => {
      const ttls = marks(body).map(({ at, mark }) => ({ at, ttl: field(mark, "ttl") ?? "5m" }));
      const firstShort = ttls.findIndex(({ ttl }) => ttl === "5m");
      const late = ttls.find(
        ({ ttl }, index) => ttl === "1h" && firstShort >= 0 && index > firstShort,
      );
      return late === undefined
        ? undefined
        : `${late.at}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: \`tools\`, \`system\`, \`messages\`.`;
    },
  },
];

interface Mark {
  readonly at: string;
  readonly mark: Json;
  readonly text: Json | undefined;
}

function marks(body: Json | undefined): readonly Mark[] {
  const tools = listOf(field(body, "tools")).flatMap((tool, index) =>
    isObject(tool) ? [{ at: `tools.${index}`, block: tool }] : [],
  );
  return [...tools, ...allBlocks(body)].flatMap(({ at, block }) => {
    const mark = block["cache_control"];
    return mark == null ? [] : [{ at, mark, text: block["text"] }];
  });
}
