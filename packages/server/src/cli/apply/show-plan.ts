import { styleText } from "node:util";
import { structuredPatch } from "diff";
import type { Plan, Step } from "./plan.ts";

const CONTEXT_LINES = 3;

/** Colours text where the reader sees colours. */
export type Paint = (colour: "green" | "red" | "yellow" | "dim", text: string) => string;

/** For a stream: colours on a terminal alone, and never where `NO_COLOR` forbids them. */
export function paintFor(stream: NodeJS.WriteStream): Paint {
  return (colour, text) => styleText(colour, text, { stream });
}

/** What is to be done, each thing with its difference, and how much it is in all. */
export function planText({ steps }: Plan, paint: Paint): string {
  const parts = steps.map((step) => stepText(step, paint));
  const count = (action: Step["action"]) => steps.filter((step) => step.action === action).length;
  const total = `${count("create")} to create, ${count("change")} to change, ${count("keep")} unchanged.`;
  return [...parts, total].join("\n");
}

function stepText(step: Step, paint: Paint): string {
  const name = `${step.kind} ${printable(step.name)}`;
  const title = step.id === undefined ? name : `${name} (${step.id})`;
  switch (step.action) {
    case "keep":
      return paint("dim", `= ${title}`);
    case "create":
      return [paint("green", `+ ${title}`), ...differenceOf(step, paint)].join("\n");
    default:
      return [paint("yellow", `~ ${title}`), ...differenceOf(step, paint)].join("\n");
  }
}

function differenceOf({ before, after }: Step, paint: Paint): string[] {
  const { hunks } = structuredPatch("", "", before, after, "", "", { context: CONTEXT_LINES });
  return hunks.flatMap(({ lines }, index) => [
    ...(index === 0 ? [] : [paint("dim", "    …")]),
    ...lines.map((line) => {
      const text = `    ${printable(line)}`;
      if (line.startsWith("+")) return paint("green", text);
      return line.startsWith("-") ? paint("red", text) : text;
    }),
  ]);
}

/** What others wrote must not move the cursor of whoever reads it. */
export function printable(line: string): string {
  return line.replaceAll(/[\p{Cc}\u2028\u2029]/gu, (character) =>
    character === "\t" ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
