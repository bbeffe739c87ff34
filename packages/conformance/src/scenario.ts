import type { Target } from "./target.ts";

/** What a scenario asks of the run beyond a server and a key; without it the scenario is not run. */
export type Need =
  /** A model that follows the scripts of Drover's offline models. */
  | "scripted-model"
  /** A key that may only read, in the workspace of the first one. */
  | "read-only-key"
  /** A key of another workspace. */
  | "other-workspace"
  /** A server on the machine of the run, that may connect to loopback addresses for its users. */
  | "loopback";

export interface ScenarioOptions {
  /** Ids of requirements, at least one. */
  readonly verifies: readonly string[];
  /** Rows of the checklist that it is part of. */
  readonly rows?: readonly number[];
  readonly needs?: readonly Need[];
  /**
   * Why it cannot pass yet. It is run all the same, and is a failure of the suite once it passes: then
   * the reason is to be taken away.
   */
  readonly deferred?: string;
  /** Milliseconds that it may take, where it has to wait for longer than others. */
  readonly patienceMs?: number;
}

export interface Scenario extends ScenarioOptions {
  readonly name: string;
  /** Rejects with a sentence if the server does anything else than what is verified. */
  readonly run: (target: Target) => Promise<void>;
}

/** `name` is a sentence about what the server does. */
export function scenario(
  name: string,
  options: ScenarioOptions,
  run: (target: Target) => Promise<void>,
): Scenario {
  return { name, ...options, run };
}
