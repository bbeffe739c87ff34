import type { HandCheckpoint } from "../ports/hand-records.ts";

export interface MissingCalls {
  /** In the order in which they were sent. */
  readonly calls: readonly { readonly id: string; readonly name: string }[];
  /** False if there were more before, that are not listed. */
  readonly isWhole: boolean;
}

const LISTED_MAX = 20;

/** What the model is told, once, when its sandbox's files begin anew from less than they were. */
export function filesGoneText(missing: MissingCalls, checkpoint: HandCheckpoint | null): string {
  const why =
    "The call was not run, because the files of the session's sandbox are not on this machine, or not any more.";
  return `${why} ${filesBeginAnewText(missing, checkpoint)}`;
}

/**
 * What the model is told of files that a call on another machine may still be changing: the session goes on with
 * others, so that nothing of it shows up there later.
 */
export function filesLeftText(missing: MissingCalls, checkpoint: HandCheckpoint | null): string {
  const left = "The files of the session's sandbox are left to it there.";
  return `${left} ${filesBeginAnewText(missing, checkpoint)}`;
}

function filesBeginAnewText(
  { calls, isWhole }: MissingCalls,
  checkpoint: HandCheckpoint | null,
): string {
  const from =
    checkpoint === null
      ? "as they were when the session began"
      : `as they were kept at ${checkpoint.taken_at}`;
  const listed = calls.slice(-LISTED_MAX);
  const more = calls.length - listed.length;
  const names = listed.map(({ id, name }) => `${name} (${id})`);
  const earlier = [
    ...(isWhole ? [] : ["calls before these"]),
    ...(more > 0 ? [`${more} earlier ones`] : []),
  ];
  const which = [...earlier, ...names].join(", ");
  const missing =
    which === ""
      ? "What calls changed since may be missing."
      : `What these calls changed may be missing: ${which}.`;
  return `The next call gets a new sandbox with its files ${from}. ${missing} Running processes and shell state are lost.`;
}
