import { randomUUID } from "node:crypto";
import type { CheckpointOutcome, Checkpoints, KeptFiles } from "../../core/ports/checkpoints.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { HandReport } from "../../core/ports/hand-records.ts";
import {
  type CallOutcome,
  type HandCall,
  type HandOfSession,
  type Hands,
  type HandsBoot,
  HandsUnavailableError,
  type LiveOutputs,
  type OutputFile,
  type Recovered,
  type TakeOutputs,
} from "../../core/ports/hands.ts";
import type {
  MemoryCopies,
  MemoryOffer,
  MemoryOfferOutcome,
} from "../../core/ports/memory-copies.ts";
import type { ProvisionRequest } from "../../core/ports/sandbox.ts";
import { failPoint } from "../../lib/fail-point.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import {
  callPath,
  LOST_MESSAGE,
  otherBootsOutcome,
  outputsPath,
  readCallAnswer,
} from "./call-answer.ts";
import {
  type HandsAnswer,
  type HandsConnection,
  HandsConnectionError,
} from "./hands-connection.ts";
import { HandsFinder, type StartHands } from "./hands-finder.ts";
import {
  CheckpointAnswer,
  MemoryAnswer,
  OutputsAnswer,
  Refusal,
  ReportsAnswer,
  WAIT_MS_MAX,
} from "./messages.ts";

export interface LocalHandsOptions {
  readonly dataDir: string;
  readonly start: StartHands;
  readonly clock: Clock;
  /** For starting hands and having them answer, in milliseconds. */
  readonly startDeadlineMs?: number;
  /** See `HandsFinderOptions`. */
  readonly network?: string;
  /**
   * Between two signs of life given to hands that run, in milliseconds: they end themselves when
   * they hear of no server for long. It never starts any.
   */
  readonly keepAliveMs?: number;
  /**
   * Sends every call as one that was never sent. It exists for the fault campaign, which must catch
   * what comes of it.
   */
  readonly unsafeForgetSentCalls?: boolean;
}

const START_DEADLINE_MS = 20_000;
const KEEP_ALIVE_MS = 120_000;
const ATTEMPTS_MAX = 6;
const FIRST_PAUSE_MS = 50;
const PAUSE_MAX_MS = 2_000;
/** Beyond the wait that was asked for, before the line counts as broken. */
const WAIT_SLACK_MS = 10_000;
const DISPOSE_MS = 60_000;
const COLLECT_MS = 2 * 60_000;
/** The pause before outputs that could not be committed are asked for again: that of so many attempts. */
const TAKE_AGAIN = 5;
/** A call's files may have to be looked through first. */
const OFFER_MS = 2 * 60_000;
const NOTHING: Recovered = { outputs: [] };
/** A little more than the hands take for it. */
const CHECKPOINT_MS = 5 * 60_000;

/** The hands process of a data folder on this machine, found or started when first needed. */
export class LocalHands implements Hands, Checkpoints, LiveOutputs, MemoryCopies, KeptFiles {
  readonly #options: LocalHandsOptions;
  readonly #finder: HandsFinder;
  readonly #closed = new AbortController();

  constructor(options: LocalHandsOptions) {
    this.#options = options;
    const { startDeadlineMs = START_DEADLINE_MS } = options;
    this.#finder = new HandsFinder({ ...options, startDeadlineMs });
    void this.#keepAlive(options.keepAliveMs ?? KEEP_ALIVE_MS);
  }

  async locate(handId: string, signal: AbortSignal): Promise<HandsBoot> {
    if (signal.aborted) throw givenUp();
    const connection = await unlessAborted(this.#finder.find(), this.#stop(signal), givenUp);
    const { boot, installationId } = connection;
    return { hand_id: handId, hands_boot: boot, installation_id: installationId };
  }

  async execute(
    call: HandCall,
    signal: AbortSignal,
    takeOutputs?: TakeOutputs,
  ): Promise<CallOutcome> {
    // The suffix makes the hands take it for another call, which is what the option is about.
    const sent = this.#options.unsafeForgetSentCalls
      ? { ...call, callId: `${call.callId}.${randomUUID()}` }
      : call;
    try {
      const outcome = await this.#execute(sent, signal, takeOutputs);
      failPoint("client.call.after_result");
      return outcome;
    } catch (error) {
      return { type: "unavailable", message: messageOf(error) };
    }
  }

  async cancel(
    call: Pick<HandCall, "sessionId" | "callId" | "handsBoot" | "epoch">,
  ): Promise<void> {
    const { sessionId, epoch } = call;
    await this.#tell(call.handsBoot, (connection) =>
      connection.send(
        { method: "POST", path: `${callPath(call.callId)}/cancel`, body: { sessionId, epoch } },
        this.#closed.signal,
      ),
    );
  }

  async settle(call: Pick<HandCall, "callId" | "handsBoot">): Promise<void> {
    await this.#tell(call.handsBoot, (connection) =>
      connection.send({ method: "DELETE", path: callPath(call.callId) }, this.#closed.signal),
    );
  }

  async recover(hand: HandOfSession, signal: AbortSignal): Promise<Recovered> {
    return await this.#leftOf(hand, this.#finder.find(), { signal, query: "" });
  }

  async lookAtOutputs(hand: HandOfSession, signal: AbortSignal): Promise<readonly OutputFile[]> {
    const found = this.#finder.findRunning();
    return (await this.#leftOf(hand, found, { signal, query: "?live=1" })).outputs;
  }

  async #leftOf(
    { handId, workspaceId, recipe, line }: HandOfSession,
    found: Promise<HandsConnection | undefined>,
    { signal, query }: { signal: AbortSignal; query: string },
  ): Promise<Recovered> {
    try {
      const stop = this.#stop(signal);
      const connection = await unlessAborted(found, stop, givenUp);
      if (connection === undefined) return NOTHING;
      const path = `${outputsPath(handId)}${query}`;
      const body = { workspaceId, recipe, ...(line !== undefined && { line }) };
      const { status, body: given } = await connection.send(
        { method: "POST", path, body, silenceMs: COLLECT_MS },
        stop,
      );
      return status === 200 ? OutputsAnswer.parse(given) : NOTHING;
    } catch (error) {
      if (isExpected(error)) return NOTHING;
      throw error;
    }
  }

  async settleOutputs(handId: string, outputs: readonly OutputFile[]): Promise<void> {
    const to = Math.max(...outputs.map(({ found }) => found));
    const { last } = this.#finder;
    // Not tried again: what these hands do not hear of they give once more, which changes nothing.
    if (outputs.length === 0 || last === undefined) return;
    const path = `${outputsPath(handId)}?to=${to}`;
    await this.#tellOn(last, (connection) =>
      connection.send({ method: "DELETE", path }, this.#closed.signal),
    );
  }

  async dispose(handId: string): Promise<boolean> {
    try {
      failPoint("client.dispose.before");
      const { signal } = this.#closed;
      const connection = await unlessAborted(this.#finder.find(), signal, givenUp);
      const { status } = await connection.send(
        {
          method: "DELETE",
          path: `/v1/hands/${encodeURIComponent(handId)}`,
          silenceMs: DISPOSE_MS,
        },
        signal,
      );
      failPoint("client.dispose.after");
      return status === 204;
    } catch (error) {
      if (isExpected(error)) return false;
      throw error;
    }
  }

  async take(
    { handId, workspaceId, recipe }: ProvisionRequest,
    signal: AbortSignal,
  ): Promise<CheckpointOutcome> {
    try {
      const stop = this.#stop(signal);
      const connection = await unlessAborted(this.#finder.find(), stop, givenUp);
      const { status, body } = await connection.send(
        {
          method: "POST",
          path: `/v1/hands/${encodeURIComponent(handId)}/checkpoint`,
          body: { workspaceId, recipe },
          silenceMs: CHECKPOINT_MS,
        },
        stop,
      );
      if (status === 200) return { type: "taken", checkpoint: CheckpointAnswer.parse(body) };
      const message = Refusal.safeParse(body).data?.message ?? `status ${status} of the hands`;
      return { type: status === 409 ? "refused" : "unavailable", message };
    } catch (error) {
      if (isExpected(error)) return { type: "unavailable", message: messageOf(error) };
      throw error;
    }
  }

  async offer(
    { handId, handsBoot, ...offer }: MemoryOffer,
    signal: AbortSignal,
  ): Promise<MemoryOfferOutcome> {
    try {
      const stop = this.#stop(signal);
      const connection = await unlessAborted(this.#finder.find(), stop, givenUp);
      if (connection.boot !== handsBoot) return { type: "unavailable", message: LOST_MESSAGE };
      const path = `/v1/hands/${encodeURIComponent(handId)}/memory`;
      const { status, body } = await connection.send(
        { method: "PUT", path, body: offer, silenceMs: OFFER_MS },
        stop,
      );
      if (status === 200) return { type: "taken", missing: MemoryAnswer.parse(body).missing };
      const message = Refusal.safeParse(body).data?.message ?? `status ${status} of the hands`;
      return { type: "unavailable", message };
    } catch (error) {
      if (isExpected(error)) return { type: "unavailable", message: messageOf(error) };
      throw error;
    }
  }

  async reports(): Promise<readonly HandReport[]> {
    try {
      const connection = await this.#finder.findRunning();
      if (connection === undefined) return [];
      const request = { method: "GET", path: "/v1/reports" } as const;
      const { status, body } = await connection.send(request, this.#closed.signal);
      return status === 200 ? ReportsAnswer.parse(body).reports : [];
    } catch (error) {
      if (isExpected(error)) return [];
      throw error;
    }
  }

  async acknowledge({ hand_id, taken_at }: HandReport): Promise<void> {
    try {
      const connection = await this.#finder.findRunning();
      const path = `/v1/reports/${encodeURIComponent(hand_id)}/acknowledge`;
      const request = { method: "POST", path, body: { taken_at } } as const;
      await connection?.send(request, this.#closed.signal);
    } catch (error) {
      if (!isExpected(error)) throw error;
    }
  }

  /** Stops waiting for anything. The hands go on. */
  close(): void {
    this.#closed.abort();
    this.#finder.close();
  }

  async #execute(
    call: HandCall,
    signal: AbortSignal,
    takeOutputs: TakeOutputs | undefined,
  ): Promise<CallOutcome> {
    let problem = "";
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      if (attempt > 0) await this.#pause(attempt, signal);
      if (signal.aborted) throw givenUp();
      const { last } = this.#finder;
      // The right boot needs no asking whether it lives, at first: sending will tell. Another one
      // does, because only a boot that lives has proved that nothing of the earlier ones here does.
      const connection =
        attempt === 0 && last?.boot === call.handsBoot
          ? last
          : await unlessAborted(this.#finder.find(), this.#stop(signal), givenUp);
      if (connection.boot !== call.handsBoot) {
        return otherBootsOutcome(call.handsBoot, connection.installationId);
      }
      try {
        return await this.#attend(connection, call, { signal: this.#stop(signal), takeOutputs });
      } catch (error) {
        if (!(error instanceof HandsConnectionError)) throw error;
        problem = error.message;
      }
    }
    return { type: "unavailable", message: `The hands cannot be spoken to: ${problem}.` };
  }

  /** Sends the call and waits for its end on one connection. */
  async #attend(
    connection: HandsConnection,
    call: HandCall,
    { signal, takeOutputs }: { signal: AbortSignal; takeOutputs: TakeOutputs | undefined },
  ): Promise<CallOutcome> {
    const path = callPath(call.callId);
    failPoint("client.call.before_send");
    let answer = await connection.send({ method: "PUT", path, body: call }, signal);
    failPoint("client.call.after_send");
    let taken = 0;
    for (;;) {
      const { outcome, outputs } = readCallAnswer(answer);
      if (outcome) return outcome;
      const newest = outputs.at(-1);
      if (newest && takeOutputs) {
        if (await takeOutputs(outputs)) taken = newest.found;
        else await this.#pause(TAKE_AGAIN, signal);
      }
      const silenceMs = WAIT_MS_MAX + WAIT_SLACK_MS;
      const alsoFor = takeOutputs === undefined ? "" : `&outputs_after=${taken}`;
      const wait = `${path}?wait_ms=${WAIT_MS_MAX}${alsoFor}`;
      answer = await connection.send({ method: "GET", path: wait, silenceMs }, signal);
    }
  }

  /** Brings a word to a boot that may be gone, and then has no use for it. Never rejects. */
  async #tell(
    boot: string,
    send: (connection: HandsConnection) => Promise<HandsAnswer>,
  ): Promise<void> {
    const { last } = this.#finder;
    let isDone = last?.boot === boot && (await this.#tellOn(last, send));
    for (let attempt = 1; attempt < ATTEMPTS_MAX && !isDone; attempt += 1) {
      await this.#pause(attempt, this.#closed.signal);
      isDone = this.#closed.signal.aborted || (await this.#findAndTell(boot, send));
    }
  }

  /** True if it was told, or is of no use because the boot is gone. Starts no hands for it. */
  async #findAndTell(
    boot: string,
    send: (connection: HandsConnection) => Promise<HandsAnswer>,
  ): Promise<boolean> {
    try {
      const connection = await this.#finder.findRunning();
      if (connection?.boot === boot) return await this.#tellOn(connection, send);
      return connection !== undefined || !(await this.#finder.mayLive(boot));
    } catch (error) {
      if (isExpected(error)) return true;
      throw error;
    }
  }

  async #tellOn(
    connection: HandsConnection,
    send: (connection: HandsConnection) => Promise<HandsAnswer>,
  ): Promise<boolean> {
    try {
      await send(connection);
      return true;
    } catch (error) {
      if (error instanceof HandsConnectionError) return false;
      throw error;
    }
  }

  async #pause(attempt: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), PAUSE_MAX_MS);
    await clock.sleepUntil(clock.now() + pauseMs, this.#stop(signal));
  }

  async #keepAlive(everyMs: number): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#closed;
    while (!signal.aborted) {
      await clock.sleepUntil(clock.now() + everyMs, signal);
      if (!signal.aborted) await this.#finder.last?.isAlive();
    }
  }

  #stop(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, this.#closed.signal]);
  }
}

function isExpected(error: unknown): boolean {
  return error instanceof HandsConnectionError || error instanceof HandsUnavailableError;
}

function givenUp(): HandsUnavailableError {
  return new HandsUnavailableError("The wait for the hands was given up.");
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
