import { APIError } from "@anthropic-ai/sdk";
import { OperatorError } from "../../lib/operator-error.ts";
import type { Known } from "./agent-request.ts";
import type { Plan, Step } from "./plan.ts";
import { printable } from "./show-plan.ts";

const DONE = { create: "created", change: "changed" } as const;

/**
 * Carries the steps out one after the other, saying each when it is done. At the first that fails it
 * stops and rejects with an `OperatorError` that says what was done and what was not.
 */
export async function carryOut({ steps }: Plan, say: (text: string) => void): Promise<void> {
  const known: Known = { agents: new Map(), skills: new Map() };
  const waiting = steps.filter(({ action }) => action !== "keep");
  const done: Step[] = [];
  for (const step of waiting) {
    try {
      const id = await step.carryOut(known);
      if (step.action !== "keep") say(`${DONE[step.action]} ${titleOf(step)} (${id})`);
      done.push(step);
    } catch (cause) {
      const reason = reasonOf(cause);
      const rest = waiting.slice(done.length + 1);
      const lines = [
        `Stopped at ${titleOf(step)}: ${printable(reason)}`,
        `Done before it: ${listOf(done)}. Not tried: ${listOf(rest)}.`,
        "Apply again once it is mended; what is done is not done twice.",
      ];
      throw new OperatorError(lines.join("\n"), { cause });
    }
  }
}

/** Of a server's refusal its own sentence alone. */
export function reasonOf(error: unknown): string {
  if (error instanceof APIError) return error.apiMessage ?? error.message;
  return error instanceof Error ? error.message : String(error);
}

function titleOf({ kind, name }: Step): string {
  return `${kind} ${printable(name)}`;
}

function listOf(steps: readonly Step[]): string {
  return steps.length === 0 ? "nothing" : steps.map(titleOf).join(", ");
}
