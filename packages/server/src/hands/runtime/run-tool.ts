import type { ResultBlock } from "@drover/api";
import type { EgressRecord, HandCall, RepositoryProblem } from "../../core/ports/hands.ts";
import type { Sandbox } from "../../core/ports/sandbox.ts";

/** What a tool gave. */
export interface ToolAnswer {
  readonly content: readonly ResultBlock[];
  readonly is_error: boolean;
}

/**
 * Carries out one call of a tool in a live sandbox. Aborting the signal ends it soon, with whatever
 * answer. Rejects with `SandboxGoneError` if the sandbox died.
 */
export type RunTool = (
  sandbox: Sandbox,
  call: { readonly name: string; readonly input: Readonly<Record<string, unknown>> },
  onOutput: (chunk: Uint8Array) => void,
  signal: AbortSignal,
) => Promise<ToolAnswer>;

/**
 * Carries out one call of a tool that needs no sandbox. Aborting the signal ends it soon, with
 * whatever answer.
 */
export type RunOutside = (call: HandCall, signal: AbortSignal) => Promise<OutsideAnswer>;

/** What such a tool gave, and what else there is to tell. */
export interface OutsideAnswer extends ToolAnswer {
  readonly egress?: readonly EgressRecord[];
  readonly tools_changed?: true;
}

/**
 * Makes a sandbox ready for a call, and gives what could not be had. Rejects only when the signal is
 * aborted.
 */
export type Prepare = (
  sandbox: Sandbox,
  call: HandCall,
  signal: AbortSignal,
) => Promise<readonly RepositoryProblem[]>;
