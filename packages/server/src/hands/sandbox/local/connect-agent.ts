import type { Recipe } from "../../../core/ports/hands.ts";
import { SandboxUnavailableError } from "../../../core/ports/sandbox.ts";
import type { SandboxFacts } from "../../../core/sandboxes/facts.ts";
import { limitSentence } from "../../../core/sandboxes/limits.ts";
import { failPoint } from "../../../lib/fail-point.ts";
import { SandboxExit, type SandboxExitOptions } from "../../egress/sandbox-exit.ts";
import { AgentConnection } from "../agent-connection.ts";
import { AgentSandbox } from "../agent-sandbox.ts";
import { diskHits } from "../disk/disk-hits.ts";
import type { HandDisk } from "../disk/sandbox-disks.ts";
import { forgetRecord, saveRecord } from "./process-record.ts";
import { closeListeners } from "./receive-listeners.ts";
import type { LaunchedSandbox } from "./sandbox-launcher.ts";

const READY_MS = 20_000;

export interface ConnectOptions {
  readonly handId: string;
  readonly handFolder: string;
  readonly process: LaunchedSandbox;
  readonly answerMs: number;
  readonly onWarning: ((message: string, error: unknown) => void) | undefined;
}

/** What makes the connection to an agent the sandbox of a hand. */
export interface Tenancy {
  /** Its way out, if it has one; served from now on, and ends with it. */
  readonly exit: Omit<SandboxExitOptions, "listeners"> | undefined;
  /** See `Sandbox.showFiles`. */
  readonly showFiles: (recipe: Recipe) => Promise<void>;
  readonly facts: SandboxFacts;
  /** Its own file system, if it has one. */
  readonly disk: HandDisk | undefined;
}

/**
 * A started process whose agent can be asked. Rejects with `SandboxUnavailableError` if that does not start or
 * the signal is aborted, and then the process is gone.
 */
export async function connectAgent(
  options: ConnectOptions,
  signal: AbortSignal,
): Promise<ConnectedAgent> {
  const { process } = options;
  // Before the first request: what the sandbox does from then on can be ended by a later process.
  try {
    saveRecord(options.handFolder, process.record);
    failPoint("hands.provision.after_record");
  } catch (error) {
    if (process.listeners) closeListeners(process.listeners);
    await process.end();
    throw error;
  }
  const agent = new ConnectedAgent(options);
  const { connection } = agent;
  const onAbort = () => connection.fail("the making of it was given up");
  const timer = setTimeout(() => connection.fail("its agent did not start"), READY_MS);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    if (signal.aborted) onAbort();
    await connection.hello;
    return agent;
  } catch (cause) {
    await agent.end();
    const why = await agent.closed;
    throw new SandboxUnavailableError(`the agent did not start: ${why}`, { cause });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

/** A process and the connection to its agent, whoever's it is by now. */
export class ConnectedAgent {
  readonly connection: AgentConnection;
  /** Resolves with the reason when all processes are gone. */
  readonly closed: Promise<string>;
  readonly process: LaunchedSandbox;
  readonly #options: ConnectOptions;
  /** Where the record of it is, and whose it is. */
  #place: Pick<ConnectOptions, "handId" | "handFolder">;
  #exit: SandboxExit | undefined;
  #because: string | undefined;
  /** What it listened with is closed. */
  #isOver = false;

  constructor(options: ConnectOptions) {
    const { process } = options;
    this.#options = options;
    this.#place = options;
    this.process = process;
    this.connection = new AgentConnection(process.stdin, process.stdout, (why) => {
      this.#because ??= why;
      process.end().catch(this.#warn("does not end"));
    });
    this.closed = process.exited.then((why) => this.#exited(why));
    this.closed.catch(this.#warn("is not proved gone"));
  }

  get isEnding(): boolean {
    return this.#because !== undefined;
  }

  /** The sandbox of the hand in whose folder the record is. To be called once. */
  sandbox({ exit, showFiles, facts, disk }: Tenancy): AgentSandbox {
    const { connection, closed, process } = this;
    const { listeners } = process;
    if (exit && listeners && !this.#isOver) this.#exit = new SandboxExit({ ...exit, listeners });
    const { handId, handFolder } = this.#place;
    return new AgentSandbox({
      ...{ handId, connection, facts, closed, showFiles },
      answerMs: this.#options.answerMs,
      end: () => this.end(),
      takeEgress: () => this.#exit?.takeEgress() ?? [],
      takeLimitHits: () => process.takeLimitHits(),
      diskHits: (measure) => diskHits({ diskBytes: disk?.bytes, handFolder }, measure),
    });
  }

  /** The record of it is there from now on. */
  moved(place: Pick<ConnectOptions, "handId" | "handFolder">): void {
    this.#place = place;
  }

  /** Resolves when all processes are gone. */
  async end(): Promise<void> {
    this.#because ??= "it was closed";
    this.connection.end(this.#because);
    await this.process.end();
    await this.closed;
  }

  async #exited(why: string): Promise<string> {
    const { process } = this;
    this.#isOver = true;
    this.#because ??= [
      ...process.takeLimitHits().map(limitSentence),
      `it ended by itself: ${why}`,
    ].join("; ");
    if (this.#exit) this.#exit.close();
    else if (process.listeners) closeListeners(process.listeners);
    this.connection.end(this.#because);
    await process.end();
    forgetRecord(this.#place.handFolder, process.record);
    return this.#because;
  }

  #warn(what: string): (error: unknown) => void {
    return (error) =>
      this.#options.onWarning?.(`the sandbox of ${this.#place.handId} ${what}`, error);
  }
}
