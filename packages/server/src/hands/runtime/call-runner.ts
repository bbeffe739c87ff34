import type { Clock } from "../../core/ports/clock.ts";
import type { CallOutcome, HandCall } from "../../core/ports/hands.ts";
import {
  type ProvisionRequest,
  type Sandbox,
  SandboxGoneError,
  SandboxUnavailableError,
} from "../../core/ports/sandbox.ts";
import type { CredentialSource, SessionCredentials } from "../../core/ports/session-credentials.ts";
import { isMcpToolName } from "../../core/tools/mcp-names.ts";
import { failPoint } from "../../lib/fail-point.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { HandNotes } from "../checkpoints/hand-notes.ts";
import type { CallRecord } from "../journal/call-record.ts";
import type { HandMemories } from "../memory/hand-memories.ts";
import type { OutputWatch } from "../outputs/output-watch.ts";
import { RESULT_BYTES_MAX } from "../protocol/messages.ts";
import { knownSecretsOf } from "../sweep/known-secrets.ts";
import { Sweeper } from "../sweep/sweeper.ts";
import { sweptOutcome } from "../sweep/swept-outcome.ts";
import {
  AFTERWARDS,
  cancelled,
  diedMessage,
  failed,
  result,
  withNews,
  withProblems,
} from "./call-outcomes.ts";
import { Deadline, whenAborted } from "./deadline.ts";
import type { FoundMemory, LeftBehind } from "./left-behind.ts";
import type { Report } from "./report.ts";
import type { Prepare, RunOutside, RunTool, ToolAnswer } from "./run-tool.ts";
import type { SandboxKeeper, SandboxLease } from "./sandbox-keeper.ts";
import { sandboxSecrets } from "./sandbox-secrets.ts";

export interface CallRunnerOptions {
  readonly keeper: SandboxKeeper;
  readonly prepare?: Prepare | undefined;
  /** What sessions may use of their vaults; without it nothing. */
  readonly credentials?: CredentialSource | undefined;
  readonly notes: HandNotes;
  readonly left: LeftBehind;
  readonly watch: OutputWatch;
  readonly runTool: RunTool;
  /** The memory stores of hands; without it none is mounted. */
  readonly memory?: Pick<HandMemories, "refresh"> | undefined;
  /** By name, the tools for which no sandbox is made. */
  readonly outside: ReadonlyMap<string, RunOutside>;
  /** Runs the tools of MCP servers. */
  readonly mcp: RunOutside;
  readonly clock: Clock;
  readonly report: Report;
  readonly limits: CallLimits;
}

export interface CallLimits {
  /** No call lasts longer, whatever its tool thinks; its own time-outs are shorter. */
  readonly callMs: number;
  /** The same for `bash`, whose time-out the agent may set to hours. */
  readonly bashCallMs: number;
  /** A tool that was told to stop and does not is stopped by ending its sandbox. */
  readonly stopGraceMs: number;
  /** Time for taking the outputs after one call. */
  readonly collectMs: number;
}

type Ending =
  | { readonly type: "answered"; readonly answer: ToolAnswer }
  | { readonly type: "gone"; readonly why: string }
  | { readonly type: "failed"; readonly error: unknown }
  /** It was told to stop and did not in time. */
  | { readonly type: "deaf" };

/** Runs one accepted call to its outcome, in bounded time, whatever its sandbox does. */
export class CallRunner {
  readonly #options: CallRunnerOptions;

  constructor(options: CallRunnerOptions) {
    this.#options = options;
  }

  /** Never rejects. What the session's credentials gave is in no outcome. */
  async run(record: CallRecord): Promise<CallOutcome> {
    const outcome = await this.#outcome(record);
    const credentials = this.#credentialsOf(record.call);
    return credentials ? sweptOutcome(outcome, knownSecretsOf(credentials)) : outcome;
  }

  async #outcome(record: CallRecord): Promise<CallOutcome> {
    using deadline = new Deadline(this.#options.clock, this.#ceilingMs(record.call));
    record.start();
    try {
      return await this.#run(record, deadline);
    } catch (error) {
      const isOutside = this.#outside(record.call.name) !== undefined;
      if (record.cancelSignal.aborted) {
        return cancelled(`The call was cancelled${isOutside ? "" : " before it began"}.`);
      }
      if (deadline.isOver) {
        const doing = isOutside ? `running ${record.call.name}` : "waiting for a sandbox";
        return failed(this.#timedOut(record.call, doing));
      }
      if (error instanceof SandboxUnavailableError) {
        return failed(`The call was not run, because no sandbox could be had: ${error.message}.`);
      }
      this.#options.report("bug", { call_id: record.call.callId, error });
      return failed("The call failed by an internal error of the hands.");
    }
  }

  async #run(record: CallRecord, deadline: Deadline): Promise<CallOutcome> {
    const { call } = record;
    const stop = AbortSignal.any([record.cancelSignal, deadline.signal]);
    const outside = this.#outside(call.name);
    if (outside !== undefined) return await this.#runOutside(outside, record, stop);
    const request = await this.#arrive(call);
    if (request === undefined) return { type: "files_gone" };
    const death = this.#options.keeper.takeUnnoticedDeath(call.handId);
    if (death !== undefined) {
      const outcome = failed(
        `The call was not run: the sandbox has died since the last call (${death}). ${AFTERWARDS}`,
      );
      return { ...outcome, ...(await this.#options.left.recover(call, call.files?.line)) };
    }
    failPoint("hands.call.before_provision");
    const lease = await this.#options.keeper.acquire(
      { ...request, ...this.#secretsOf(call), holder: call.sessionId },
      stop,
    );
    try {
      await this.#options.notes.filled(call.handId);
      failPoint("hands.call.after_provision");
      await this.#options.memory?.refresh(lease.sandbox, call, stop);
      const problems = (await this.#options.prepare?.(lease.sandbox, call, stop)) ?? [];
      failPoint("hands.call.before_exec");
      const ending = await this.#exec(lease, record, stop);
      failPoint("hands.call.after_exec");
      const concluded = await this.#conclude(ending, record, lease, deadline);
      const outcome =
        ending.type === "answered"
          ? await this.#withMemory(concluded, lease.sandbox, call)
          : concluded;
      failPoint("hands.call.after_outputs");
      return withProblems(withNews(outcome, lease.sandbox), problems);
    } finally {
      lease.release();
      this.#options.notes.used(call.handId);
    }
  }

  #outside(name: string): RunOutside | undefined {
    return isMcpToolName(name) ? this.#options.mcp : this.#options.outside.get(name);
  }

  #secretsOf(call: HandCall): Pick<ProvisionRequest, "secrets"> {
    const credentials = this.#credentialsOf(call);
    return credentials === undefined ? {} : { secrets: sandboxSecrets(credentials) };
  }

  #credentialsOf({ workspaceId, sessionId, grant }: HandCall): SessionCredentials | undefined {
    if (grant === undefined) return undefined;
    return this.#options.credentials?.of({ workspaceId, sessionId, grant });
  }

  async #arrive(call: HandCall): Promise<ProvisionRequest | undefined> {
    try {
      return await this.#options.notes.arrive(call);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new SandboxUnavailableError(`its files cannot be looked after: ${why}`, { cause });
    }
  }

  /** Nothing is left of such a call once nobody listens to it, so its end is not waited for. */
  async #runOutside(run: RunOutside, record: CallRecord, stop: AbortSignal): Promise<CallOutcome> {
    const { call } = record;
    failPoint("hands.call.before_exec");
    const answer = await unlessAborted(
      run(call, stop),
      stop,
      () => new Error("the call was ended"),
    );
    failPoint("hands.call.after_exec");
    const { egress, tools_changed } = answer;
    return {
      ...result(answer.content, answer.is_error, false),
      ...(egress !== undefined && { egress }),
      ...(tools_changed !== undefined && { tools_changed }),
    };
  }

  async #exec(lease: SandboxLease, record: CallRecord, stop: AbortSignal): Promise<Ending> {
    const { clock, limits, runTool } = this.#options;
    const { name, input } = record.call;
    const over = new AbortController();
    const credentials = this.#credentialsOf(record.call);
    const sweeper = credentials && new Sweeper(knownSecretsOf(credentials));
    const onOutput = (chunk: Uint8Array) => {
      if (!over.signal.aborted) record.output.append(sweeper?.push(chunk) ?? chunk);
    };
    const running = runTool(lease.sandbox, { name, input }, onOutput, stop).then(
      (answer): Ending => ({ type: "answered", answer }),
      (error: unknown): Ending =>
        error instanceof SandboxGoneError
          ? { type: "gone", why: error.message }
          : { type: "failed", error },
    );
    const afterGrace = (ending: Ending) =>
      clock.sleepUntil(clock.now() + limits.stopGraceMs, over.signal).then(() => ending);
    const stopped = whenAborted(AbortSignal.any([stop, over.signal]));
    const dead = Promise.withResolvers<string>();
    const offClosed = lease.onClosed(dead.resolve);
    const endWatch = this.#options.watch.begin(lease.sandbox, record.call);
    try {
      return await Promise.race([
        running,
        stopped.then(() => afterGrace({ type: "deaf" })),
        dead.promise.then((why) => afterGrace({ type: "gone", why })),
      ]);
    } finally {
      over.abort();
      if (sweeper) record.output.append(sweeper.end());
      offClosed();
      endWatch();
    }
  }

  async #conclude(
    ending: Ending,
    record: CallRecord,
    lease: SandboxLease,
    deadline: Deadline,
  ): Promise<CallOutcome> {
    const isCancelled = record.cancelSignal.aborted;
    switch (ending.type) {
      case "answered": {
        await this.#options.left.collect(lease.sandbox, record.call);
        const { content, is_error } = ending.answer;
        if (isCancelled || !deadline.isOver) {
          return result(content, is_error || isCancelled, isCancelled);
        }
        const text = this.#timedOut(record.call, `running ${record.call.name}`);
        return result([...content, { type: "text", text }], true, false);
      }
      case "gone": {
        const outcome = isCancelled
          ? cancelled(`The call was cancelled, and its sandbox ended with it: ${ending.why}.`)
          : failed(diedMessage(record.call.name, ending.why));
        return { ...outcome, ...(await this.#end(lease, record.call)) };
      }
      case "deaf": {
        const outcome = isCancelled
          ? cancelled("The call was cancelled. It did not stop, so its sandbox was ended.")
          : failed(`${this.#timedOut(record.call, `running ${record.call.name}`)} ${AFTERWARDS}`);
        return { ...outcome, ...(await this.#end(lease, record.call)) };
      }
      case "failed":
        this.#options.report("bug", { call_id: record.call.callId, error: ending.error });
        return isCancelled
          ? cancelled("The call was cancelled.")
          : failed(`${record.call.name} failed by an internal error of the hands.`);
    }
  }

  /** The answer is given also where the end cannot be proved: then the next call has to wait for it. */
  async #end(lease: SandboxLease, call: HandCall): Promise<FoundMemory | undefined> {
    const { clock, limits, report } = this.#options;
    using patience = new Deadline(clock, limits.stopGraceMs);
    const ended = lease.end().catch((error: unknown) => {
      report("sandbox_not_ended", { hand_id: call.handId, error });
    });
    await Promise.race([ended, patience.passed]);
    return await this.#options.left.recover(call, call.files?.line);
  }

  /** What the sandbox changed in memory stores, as far as a result has room for it. */
  async #withMemory(outcome: CallOutcome, sandbox: Sandbox, call: HandCall): Promise<CallOutcome> {
    if (outcome.type !== "result") return outcome;
    const used = JSON.stringify(outcome).length;
    const room = Math.max(0, Math.floor((RESULT_BYTES_MAX - used) / 2));
    return { ...outcome, ...(await this.#options.left.memoryOf(sandbox, call, room)) };
  }

  #ceilingMs({ name }: HandCall): number {
    const { bashCallMs, callMs } = this.#options.limits;
    return name === "bash" ? bashCallMs : callMs;
  }

  #timedOut(call: HandCall, doing: string): string {
    const seconds = Math.round(this.#ceilingMs(call) / 1000);
    return `The call was ended after ${seconds} s of ${doing}, the most a call may take.`;
  }
}
