import { scrubber } from "../../lib/scrub.ts";

/** Characters of a foreign body that are looked at, and those that are shown. */
const READ_MAX = 32 * 1_024;
const SHOWN_MAX = 2_048;
/** Characters before a cut: a secret that was cut off leaves a start too short to be known as one. */
const UNSURE = 64;
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu;

export interface ForeignBody {
  readonly bytes: Uint8Array;
  /** True if there was more of it. */
  readonly isTruncated: boolean;
}

/**
 * What may be shown of a foreign server's answer: no secret of ours in any form, none that looks like
 * one, nothing that a terminal would obey, and not more than 2,048 characters.
 */
export function scrubbed(
  { bytes, isTruncated }: ForeignBody,
  secrets: readonly string[],
): { body: string; body_truncated: boolean } {
  // Control characters go first, or they could stand within a secret and hide it.
  const text = new TextDecoder().decode(bytes).replaceAll(CONTROL, keptBreak);
  const isCut = isTruncated || text.length > READ_MAX;
  const read = text.slice(0, READ_MAX);
  const sure = isCut ? read.slice(0, Math.max(0, read.length - UNSURE)) : read;
  const clean = scrubber(secrets, { lengthMax: Number.POSITIVE_INFINITY })(sure);
  const body = clean.slice(0, SHOWN_MAX).toWellFormed();
  return { body, body_truncated: isCut || body.length < clean.length };
}

function keptBreak(character: string): string {
  return character === "\n" || character === "\t" ? character : "";
}
