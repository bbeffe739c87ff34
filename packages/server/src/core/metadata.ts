import { metadataPairsMax } from "@drover/api";
import { InvalidRequestError } from "./errors.ts";

export type Metadata = Readonly<Record<string, string>>;

/**
 * The metadata after a patch: a string sets its key, null deletes it, and so does an empty string
 * where `emptyDeletes`. Rejects more than 16 pairs in the result.
 */
export function patchedMetadata(
  current: Metadata,
  patch: Readonly<Record<string, string | null>> | null | undefined,
  { emptyDeletes }: { emptyDeletes: boolean },
): Record<string, string> {
  const pairs = new Map(Object.entries(current));
  for (const [key, value] of Object.entries(patch ?? {})) {
    if (value === null || (emptyDeletes && value === "")) pairs.delete(key);
    else pairs.set(key, value);
  }
  if (pairs.size > metadataPairsMax) {
    throw new InvalidRequestError(
      `metadata: ${pairs.size} pairs after the change, at most ${metadataPairsMax} are allowed`,
    );
  }
  return Object.fromEntries(pairs);
}
