import { isRecord } from "../../lib/is-record.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * Counts of tokens as the Messages API names them: its input leaves out what came from the cache or
 * went into it. Undefined if nothing was told; what was not told is absent, which is not zero.
 */
export function usageOf(usage: Fields): Fields | undefined {
  const details = isRecord(usage["prompt_tokens_details"]) ? usage["prompt_tokens_details"] : {};
  const prompt = count(usage["prompt_tokens"]);
  const output = count(usage["completion_tokens"]);
  const read = count(details["cached_tokens"]) ?? count(usage["prompt_cache_hit_tokens"]);
  const written = count(details["cache_write_tokens"]);
  if (prompt === undefined && output === undefined) return undefined;
  const cached = (read ?? 0) + (written ?? 0);
  return {
    ...(prompt !== undefined && { input_tokens: Math.max(0, prompt - cached) }),
    ...(output !== undefined && { output_tokens: output }),
    ...(read !== undefined && { cache_read_input_tokens: read }),
    ...(written !== undefined && { cache_creation_input_tokens: written }),
  };
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
