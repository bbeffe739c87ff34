import { z } from "zod";
import { isSafeText, text } from "./text.ts";

export const metadataPairsMax = 16;
export const metadataKeyMax = 64;
export const metadataValueMax = 512;

const Key = z
  .string()
  .min(1)
  .max(metadataKeyMax, `must be at most ${metadataKeyMax} characters`)
  .refine(isSafeText, "must not contain NUL or unpaired surrogates");

export const Metadata = z
  .record(Key, text(metadataValueMax))
  .refine(
    (metadata) => Object.keys(metadata).length <= metadataPairsMax,
    `at most ${metadataPairsMax} pairs`,
  );

/**
 * Changes to metadata, by key: a string sets, null deletes. The bound on pairs holds for the result;
 * this one only keeps the request small.
 */
export const MetadataPatch = z
  .record(Key, text(metadataValueMax).nullable())
  .refine(
    (patch) => Object.keys(patch).length <= metadataPairsMax * 4,
    `at most ${metadataPairsMax * 4} changes`,
  );

export type Metadata = z.infer<typeof Metadata>;
export type MetadataPatch = z.infer<typeof MetadataPatch>;
