import type { Clock } from "../../core/ports/clock.ts";
import type { HandCall, RepositoryProblem, RepositorySource } from "../../core/ports/hands.ts";
import {
  type Sandbox,
  SandboxFileError,
  SandboxGoneError,
  SandboxUnavailableError,
} from "../../core/ports/sandbox.ts";
import type { SecretBox } from "../../core/ports/secret-box.ts";
import { tokenBinding } from "../../core/sessions/token-binding.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { Report } from "../runtime/report.ts";
import { CloneError, type CloneOptions, cloneRepository } from "./clone-repository.ts";
import { isPlaced, PlaceError, placeTree } from "./place-tree.ts";

/** Repositories that are cloned at a time, on one machine; others wait. */
const CLONES_MAX = 4;
const FIRST_RETRY_MS = 30_000;
const RETRY_MS_MAX = 15 * 60_000;
/** Hands that something is remembered of; what is forgotten is looked up in the sandbox. */
const HANDS_MAX = 10_000;

export interface RepositoryKeeperOptions extends CloneOptions {
  /** Opens tokens, each time one is used. */
  readonly secretBox: Pick<SecretBox, "open">;
  readonly clock: Clock;
  readonly report: Report;
}

/** What is known of a repository of a hand. */
type Known =
  | { readonly type: "there" }
  | {
      readonly type: "failed";
      /** The token it failed with: another one is a reason to try again. */
      readonly sealed_token: string | undefined;
      readonly failures: number;
      /** Not before, with the same token. */
      readonly untilMs: number;
    };

type Caller = Pick<HandCall, "workspaceId" | "sessionId" | "handId" | "recipe">;

interface Work {
  readonly done: Promise<void>;
  readonly stop: AbortController;
  /** Until one of those who wait has taken them. */
  readonly problems: RepositoryProblem[];
  waiting: number;
}

/** Sees to it that a session's repositories lie in its sandbox before a call runs. */
export class RepositoryKeeper {
  readonly #options: RepositoryKeeperOptions;
  readonly #known = new Map<string, Map<string, Known>>();
  readonly #work = new Map<string, Work>();
  #cloning = 0;
  readonly #queue: (() => void)[] = [];

  constructor(options: RepositoryKeeperOptions) {
    this.#options = options;
  }

  /**
   * Clones what is wanted and not there yet, once however many calls ask, and gives what could not be had:
   * to one of them. What failed is tried again by a later call, after a pause or with another token.
   * Rejects only when the signal is aborted; the cloning ends when nobody waits for it any more.
   */
  async prepare(
    sandbox: Sandbox,
    call: Caller & Pick<HandCall, "repositories">,
    signal: AbortSignal,
  ): Promise<readonly RepositoryProblem[]> {
    const { handId, repositories = [] } = call;
    while (repositories.some((source) => this.#isDue(handId, source))) {
      const work = this.#work.get(handId) ?? this.#begin(sandbox, call, repositories);
      const isEnding = work.stop.signal.aborted;
      work.waiting += 1;
      try {
        await unlessAborted(work.done, signal, givenUp);
        // One that others gave up is waited for, and then begun anew.
        if (!isEnding) return work.problems.splice(0);
      } finally {
        work.waiting -= 1;
        if (work.waiting === 0) work.stop.abort();
      }
    }
    return [];
  }

  /** Ends what is being done for a hand, and deletes what an earlier process may have left of it. */
  async dispose(handId: string): Promise<void> {
    const work = this.#work.get(handId);
    work?.stop.abort();
    await work?.done;
    this.#known.delete(handId);
    await this.#options.provider.dispose(cloneHandId(handId));
  }

  #isDue(handId: string, source: RepositorySource): boolean {
    const known = this.#known.get(handId)?.get(source.resource_id);
    if (known === undefined) return true;
    if (known.type === "there") return false;
    return known.sealed_token !== source.sealed_token || known.untilMs <= this.#options.clock.now();
  }

  #begin(sandbox: Sandbox, call: Caller, repositories: readonly RepositorySource[]): Work {
    const { handId } = call;
    const stop = new AbortController();
    const problems: RepositoryProblem[] = [];
    const done = this.#each(sandbox, call, { repositories, problems, signal: stop.signal });
    const work = {
      done: done.finally(() => this.#work.delete(handId)),
      stop,
      problems,
      waiting: 0,
    };
    this.#work.set(handId, work);
    return work;
  }

  /** Never rejects. */
  async #each(
    sandbox: Sandbox,
    call: Caller,
    work: {
      repositories: readonly RepositorySource[];
      problems: RepositoryProblem[];
      signal: AbortSignal;
    },
  ): Promise<void> {
    const { repositories, problems, signal } = work;
    for (const source of repositories) {
      if (signal.aborted) return;
      if (!this.#isDue(call.handId, source)) continue;
      try {
        if (!(await isPlaced(sandbox, source))) await this.#clone(sandbox, call, source, signal);
        this.#remember(call.handId, source, { type: "there" });
      } catch (error) {
        // The call is about to meet a dead sandbox, and the next one tries anew.
        if (signal.aborted || error instanceof SandboxGoneError) return;
        problems.push(this.#failed(call.handId, source, error));
      }
    }
  }

  async #clone(
    sandbox: Sandbox,
    { workspaceId, sessionId, handId, recipe }: Caller,
    source: RepositorySource,
    signal: AbortSignal,
  ): Promise<void> {
    const { secretBox, clock, report } = this.#options;
    const { sealed_token: sealed, resource_id, url } = source;
    const binding = tokenBinding({ workspaceId, sessionId }, resource_id);
    const token = () => (sealed === undefined ? undefined : secretBox.open(sealed, binding));
    const { provider } = recipe;
    const request = { workspaceId, handId: cloneHandId(handId), provider, source, token };
    assertOpens(token);
    await this.#turn(signal);
    const begunMs = clock.now();
    try {
      await cloneRepository(
        this.#options,
        request,
        async (tree) => {
          await placeTree(tree, sandbox, source, signal);
          const { size_bytes, commit, isShallow } = tree;
          const ms = clock.now() - begunMs;
          report("repository_cloned", { hand_id: handId, url, commit, size_bytes, isShallow, ms });
        },
        signal,
      );
    } finally {
      this.#cloning -= 1;
      this.#queue.shift()?.();
    }
  }

  async #turn(signal: AbortSignal): Promise<void> {
    while (this.#cloning >= CLONES_MAX) {
      const next = Promise.withResolvers<void>();
      this.#queue.push(next.resolve);
      await unlessAborted(next.promise, signal, givenUp).catch((error: unknown) => {
        const at = this.#queue.indexOf(next.resolve);
        if (at >= 0) this.#queue.splice(at, 1);
        // Its turn had come, and is another's now.
        else this.#queue.shift()?.();
        throw error;
      });
    }
    this.#cloning += 1;
  }

  #failed(handId: string, source: RepositorySource, error: unknown): RepositoryProblem {
    const { report, clock } = this.#options;
    const { url, mount_path, resource_id, sealed_token } = source;
    const known = this.#known.get(handId)?.get(resource_id);
    const failures = (known?.type === "failed" ? known.failures : 0) + 1;
    const pauseMs = Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), RETRY_MS_MAX);
    const untilMs = clock.now() + pauseMs;
    this.#remember(handId, source, { type: "failed", sealed_token, failures, untilMs });
    const { type, reason } = reasonOf(error);
    report("repository_not_cloned", { hand_id: handId, url, type, error });
    return { url, type, message: `${url} could not be cloned to ${mount_path}: ${reason}.` };
  }

  #remember(handId: string, { resource_id }: RepositorySource, known: Known): void {
    const ofHand = this.#known.get(handId) ?? new Map<string, Known>();
    ofHand.set(resource_id, known);
    this.#known.delete(handId);
    this.#known.set(handId, ofHand);
    const [oldest] = this.#known.keys();
    if (this.#known.size > HANDS_MAX && oldest !== undefined) this.#known.delete(oldest);
  }
}

/** The provisioning sandbox's: the same for every attempt, so that what a dead process left is found. */
function cloneHandId(handId: string): string {
  return `${handId}-clone`;
}

function givenUp(): SandboxUnavailableError {
  return new SandboxUnavailableError("the wait for the session's repositories was given up");
}

/** A key that was rotated away is to be heard of in words. */
function assertOpens(token: () => unknown): void {
  try {
    token();
  } catch {
    const message =
      "its stored token cannot be opened by these hands (after a change of DROVER_ENCRYPTION_KEY they are to be ended once, by `drover stop --hands`)";
    throw new CloneError("repository_authentication_error", message);
  }
}

function reasonOf(error: unknown): { type: RepositoryProblem["type"]; reason: string } {
  if (error instanceof CloneError) return { type: error.type, reason: error.message };
  const type = "repository_clone_error";
  if (error instanceof PlaceError) return { type, reason: error.message };
  if (error instanceof SandboxUnavailableError) {
    return { type, reason: `no sandbox to clone it in could be had (${error.message})` };
  }
  if (error instanceof SandboxFileError) {
    return { type, reason: `the place for it cannot be used (${error.message})` };
  }
  return { type, reason: "an internal error of the hands" };
}
