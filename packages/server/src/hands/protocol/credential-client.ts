import type { Clock } from "../../core/ports/clock.ts";
import type {
  AskedQuestion,
  CredentialAnswer,
  SealedOAuth,
} from "../../core/ports/credential-broker.ts";
import type { TrialOutcome } from "../../core/ports/credential-trials.ts";
import type { CarryOutcome, SealedMove } from "../../core/ports/secret-carrier.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import { CarryAnswer, QuestionsAnswer, TrialAnswer } from "./credential-messages.ts";
import { HandsConnectionError } from "./hands-connection.ts";
import type { HandsFinder } from "./hands-finder.ts";
import { Refusal, WAIT_MS_MAX } from "./messages.ts";
import { givenUp, isUnreachable, messageOf } from "./unreachable.ts";

export interface CredentialClientOptions {
  readonly finder: HandsFinder;
  readonly clock: Clock;
  /** Aborted when nothing is to be waited for any more. */
  readonly closed: AbortSignal;
}

/** Beyond the wait that was asked for, before the line counts as broken. */
const SLACK_MS = 10_000;
/** Three requests to a server, an exchange, and waiting for another one's. */
const TRIAL_MS = 150_000;
const PAUSE_MS = 250;

/** Speaks to hands of the credentials of sessions. See `CredentialQuestions` and `CredentialTrials`. */
export class CredentialClient {
  readonly #options: CredentialClientOptions;

  constructor(options: CredentialClientOptions) {
    this.#options = options;
  }

  async nextQuestions(signal: AbortSignal): Promise<readonly AskedQuestion[]> {
    const { finder, closed } = this.#options;
    const stop = AbortSignal.any([signal, closed]);
    try {
      const connection = finder.last ?? (await finder.findRunning());
      if (connection === undefined) {
        await finder.appears(stop);
        return [];
      }
      const { status, body } = await connection.send(
        {
          method: "GET",
          path: `/v1/questions?wait_ms=${WAIT_MS_MAX}`,
          silenceMs: WAIT_MS_MAX + SLACK_MS,
        },
        stop,
      );
      if (status !== 200) throw new HandsConnectionError(`questions: status ${status}`);
      const { questions } = QuestionsAnswer.parse(body);
      return questions.map((each) => ({ ...each, hands_boot: connection.boot }));
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      await this.#pause(stop);
      // So that those who came after are found.
      await finder.findRunning().catch(ignoreUnreachable);
      return [];
    }
  }

  async answerQuestion({ id, hands_boot }: AskedQuestion, answer: CredentialAnswer): Promise<void> {
    const { finder, closed } = this.#options;
    const { last } = finder;
    // Of another boot, nobody waits any more.
    if (last?.boot !== hands_boot) return;
    const path = `/v1/questions/${encodeURIComponent(id)}`;
    await last.send({ method: "POST", path, body: answer }, closed).catch(ignoreUnreachable);
  }

  async try(credential: SealedOAuth, signal: AbortSignal): Promise<TrialOutcome> {
    const { finder, closed } = this.#options;
    const stop = AbortSignal.any([signal, closed]);
    try {
      const connection = await unlessAborted(finder.find(), stop, givenUp);
      const { status, body } = await connection.send(
        { method: "POST", path: "/v1/credentials/try", body: credential, silenceMs: TRIAL_MS },
        stop,
      );
      if (status === 200) return TrialAnswer.parse(body);
      return { type: "unavailable", message: refusalIn(status, body) };
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      return { type: "unavailable", message: messageOf(error) };
    }
  }

  async carry(moves: readonly SealedMove[], signal: AbortSignal): Promise<CarryOutcome> {
    if (moves.length === 0) return { type: "carried", sealed: [] };
    const { finder, closed } = this.#options;
    const stop = AbortSignal.any([signal, closed]);
    try {
      const connection = await unlessAborted(finder.find(), stop, givenUp);
      const { status, body } = await connection.send(
        { method: "POST", path: "/v1/secrets/carry", body: { moves } },
        stop,
      );
      if (status === 200) return { type: "carried", ...CarryAnswer.parse(body) };
      return { type: "unavailable", message: refusalIn(status, body) };
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      return { type: "unavailable", message: messageOf(error) };
    }
  }

  async #pause(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    await clock.sleepUntil(clock.now() + PAUSE_MS, signal);
  }
}

function refusalIn(status: number, body: unknown): string {
  return Refusal.safeParse(body).data?.message ?? `the hands answer ${status}`;
}

function ignoreUnreachable(error: unknown): undefined {
  if (!isUnreachable(error)) throw error;
  return undefined;
}
