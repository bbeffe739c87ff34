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
  return sum;
}

/** What a span shows: all four counts, 0 where nothing was reported. */
export function spanUsage(usage: ModelUsage | undefined): SpanModelUsage {
  return {
    input_tokens: usage?.input_tokens ?? 0,
    output_tokens: usage?.output_tokens ?? 0,
    cache_creation_input_tokens: usage?.cache_creation_input_tokens ?? 0,
    cache_read_input_tokens: usage?.cache_read_input_tokens ?? 0,
  };
}

function addCacheCreation(
  total: SessionUsage["cache_creation"],
  usage: ModelUsage,
): SessionUsage["cache_creation"] {
  // An API that does not split by lifetime writes its cache for five minutes, the default.
  const fiveMinutes =
    usage.cache_creation?.ephemeral_5m_input_tokens ??
    (usage.cache_creation === undefined ? usage.cache_creation_input_tokens : undefined);
  const short = plus(total?.ephemeral_5m_input_tokens, fiveMinutes);
  const long = plus(
    total?.ephemeral_1h_input_tokens,
    usage.cache_creation?.ephemeral_1h_input_tokens,
  );
  if (short === undefined && long === undefined) return undefined;
  return {
    ...(short !== undefined && { ephemeral_5m_input_tokens: short }),
    ...(long !== undefined && { ephemeral_1h_input_tokens: long }),
  };
}

function plus(left: number | undefined, right: number | undefined): number | undefined {
  if (left === undefined) return right;
  return right === undefined ? left : left + right;
}
