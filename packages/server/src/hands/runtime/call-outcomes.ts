import type { ResultBlock } from "@drover/api";
import type { CallOutcome, RepositoryProblem } from "../../core/ports/hands.ts";
import type { Sandbox } from "../../core/ports/sandbox.ts";

export const AFTERWARDS =
  "The next call gets a new sandbox with the same files; running processes and shell state are lost.";

export function diedMessage(name: string, why: string): string {
  return `The sandbox died while ${name} ran (${why}): the outcome is unknown. ${AFTERWARDS}`;
}

export function failed(message: string): CallOutcome {
  return result([{ type: "text", text: message }], true, false);
}

export function cancelled(message: string): CallOutcome {
  return result([{ type: "text", text: message }], true, true);
}

/** Without outputs: those that wait go along whenever it is asked for. */
export function result(
  content: readonly ResultBlock[],
  is_error: boolean,
  isCancelled: boolean,
): CallOutcome {
  return { type: "result", content, is_error, outputs: [], cancelled: isCancelled };
}

/** What there is to tell of the sandbox since the last result from there. */
export function withNews(outcome: CallOutcome, sandbox: Sandbox): CallOutcome {
  if (outcome.type !== "result") return outcome;
  const egress = sandbox.takeEgress();
  const facts = sandbox.takeFacts();
  return {
    ...outcome,
    ...(egress.length > 0 && { egress }),
    ...(facts !== undefined && { sandbox: facts }),
  };
}

/** Told to the model as well, which would look for them in vain. */
export function withProblems(
  outcome: CallOutcome,
  problems: readonly RepositoryProblem[],
): CallOutcome {
  if (outcome.type !== "result" || problems.length === 0) return outcome;
  const notes = problems.map(({ message }) => ({ type: "text" as const, text: `[${message}]` }));
  return { ...outcome, content: [...outcome.content, ...notes], repositories: problems };
}
