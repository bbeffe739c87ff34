import type { Answer } from "../../../packages/testing/src/index.ts";

/** A message, and the name by which the model and the stream's reader know its turn. */
export interface Turn {
  readonly label: string;
  readonly answers: readonly Answer[];
}

/** A message that the model answers with these answers, one after another. */
export function textOf({ label, answers }: Turn): string {
  return `#sample ${label}\n#script ${JSON.stringify(answers)}`;
}

export function isTextOf(text: string, label: string): boolean {
  return text.startsWith(`#sample ${label}\n`);
}
