import { randomUUID } from "node:crypto";
import type { Clock } from "../../core/ports/clock.ts";
import type { CallOutcome, HandCall, TakeOutputs } from "../../core/ports/hands.ts";
import { failPoint } from "../../lib/fail-point.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import { callPath, otherBootsOutcome, readCallAnswer } from "./call-answer.ts";
import {
  type HandsAnswer,
  type HandsConnection,
  HandsConnectionError,
} from "./hands-connection.ts";
import type { HandsFinder } from "./hands-finder.ts";
import { WAIT_MS_MAX } from "./messages.ts";
import { givenUp, isUnreachable, messageOf } from "./unreachable.ts";

export interface CallClientOptions {
  readonly finder: HandsFinder;
  readonly clock: Clock;
  /** Aborted when nothing is to be waited for any more. */
  readonly closed: AbortSignal;
  /** See `LocalHandsOptions`. */
  readonly unsafeForgetSentCalls?: boolean | undefined;
}

const ATTEMPTS_MAX = 6;
const FIRST_PAUSE_MS = 50;
const PAUSE_MAX_MS = 2_000;
/** Beyond the wait that was asked for, before the line counts as broken. */
const WAIT_SLACK_MS = 10_000;
/** The pause before outputs that could not be committed are asked for again: that of so many attempts. */
const TAKE_AGAIN = 5;

/** Has calls carried out by one boot of the hands, whatever happens to the line in between. See `Hands`. */
export class CallClient {
  readonly #options: CallClientOptions;

  constructor(options: CallClientOptions) {
    this.#options = options;
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
        this.#options.closed,
      ),
    );
  }

  async settle(call: Pick<HandCall, "callId" | "handsBoot">): Promise<void> {
    await this.#tell(call.handsBoot, (connection) =>
      connection.send({ method: "DELETE", path: callPath(call.callId) }, this.#options.closed),
    );
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
      const { last } = this.#options.finder;
      // The right boot needs no asking whether it lives, at first: sending will tell. Another one
      // does, because only a boot that lives has proved that nothing of the earlier ones here does.
      const connection =
        attempt === 0 && last?.boot === call.handsBoot
          ? last
          : await unlessAborted(this.#options.finder.find(), this.#stop(signal), givenUp);
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
    const { last } = this.#options.finder;
    let isDone = last?.boot === boot && (await tellOn(last, send));
    for (let attempt = 1; attempt < ATTEMPTS_MAX && !isDone; attempt += 1) {
      await this.#pause(attempt, this.#options.closed);
      isDone = this.#options.closed.aborted || (await this.#findAndTell(boot, send));
    }
  }

  /** True if it was told, or is of no use because the boot is gone. Starts no hands for it. */
  async #findAndTell(
    boot: string,
    send: (connection: HandsConnection) => Promise<HandsAnswer>,
  ): Promise<boolean> {
    try {
      const connection = await this.#options.finder.findRunning();
      if (connection?.boot === boot) return await tellOn(connection, send);
      return connection !== undefined || !(await this.#options.finder.mayLive(boot));
    } catch (error) {
      if (isUnreachable(error)) return true;
      throw error;
    }
  }

  async #pause(attempt: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), PAUSE_MAX_MS);
    await clock.sleepUntil(clock.now() + pauseMs, this.#stop(signal));
  }

  #stop(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, this.#options.closed]);
  }
}

/** Brings a word to a boot; false if the line broke. */
export async function tellOn(
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
