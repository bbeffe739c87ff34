import type { SessionUsage, SpanModelUsage } from "@drover/api";
import type { ModelUsage } from "../ports/model.ts";

/** The sum; a figure that neither side reported stays absent. */
export function addUsage(total: SessionUsage, usage: ModelUsage): SessionUsage {
  const sum: SessionUsage = { ...total };
  for (const key of ["input_tokens", "output_tokens", "cache_read_input_tokens"] as const) {
    const value = plus(total[key], usage[key]);
    if (value !== undefined) sum[key] = value;
  }
  const cacheCreation = addCacheCreation(total.cache_creation, usage);
  if (cacheCreation !== undefined) sum.cache_creation = cacheCreation;
  const serverToolUse = addServerToolUse(total.server_tool_use, usage.server_tool_use);
  if (serverToolUse !== undefined) sum.server_tool_use = serverToolUse;
  return sum;
}

/**
 * Tokens written to the cache, by how long it keeps them. An API that does not split them, or not all
 * of them, writes the rest for five minutes, the default.
 */
export function cacheWrites(usage: ModelUsage): {
  readonly short: number | undefined;
  readonly long: number | undefined;
} {
  const { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long } =
    usage.cache_creation ?? {};
  const all = usage.cache_creation_input_tokens ?? 0;
  const rest = all - (short ?? 0) - (long ?? 0);
  if (rest > 0) return { short: (short ?? 0) + rest, long };
  const isSplit = short !== undefined || long !== undefined;
  return { short: isSplit ? short : usage.cache_creation_input_tokens, long };
}

/** What a span shows: all four counts, 0 where nothing was reported; `speed` as it was asked for. */
export function spanUsage(usage: ModelUsage | undefined, speed?: "fast"): SpanModelUsage {
  return {
    input_tokens: usage?.input_tokens ?? 0,
    output_tokens: usage?.output_tokens ?? 0,
    cache_creation_input_tokens: usage?.cache_creation_input_tokens ?? 0,
    cache_read_input_tokens: usage?.cache_read_input_tokens ?? 0,
    ...(speed !== undefined && { speed }),
  };
}

function addCacheCreation(
  total: SessionUsage["cache_creation"],
  usage: ModelUsage,
): SessionUsage["cache_creation"] {
  const added = cacheWrites(usage);
  const short = plus(total?.ephemeral_5m_input_tokens, added.short);
  const long = plus(total?.ephemeral_1h_input_tokens, added.long);
  if (short === undefined && long === undefined) return undefined;
  return {
    ...(short !== undefined && { ephemeral_5m_input_tokens: short }),
    ...(long !== undefined && { ephemeral_1h_input_tokens: long }),
  };
}

function addServerToolUse(
  total: SessionUsage["server_tool_use"],
  usage: ModelUsage["server_tool_use"],
): SessionUsage["server_tool_use"] {
  const searches = plus(total?.web_search_requests, usage?.web_search_requests);
  const fetches = plus(total?.web_fetch_requests, usage?.web_fetch_requests);
  if (searches === undefined && fetches === undefined) return undefined;
  return {
    ...(searches !== undefined && { web_search_requests: searches }),
    ...(fetches !== undefined && { web_fetch_requests: fetches }),
  };
}

function plus(left: number | undefined, right: number | undefined): number | undefined {
  if (left === undefined) return right;
  return right === undefined ? left : left + right;
}
