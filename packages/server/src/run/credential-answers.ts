import { StoreUnavailableError } from "../core/errors.ts";
import type { Clock } from "../core/ports/clock.ts";
import type {
  AskedQuestion,
  CredentialBroker,
  CredentialQuestions,
} from "../core/ports/credential-broker.ts";
import type { FailPoint } from "../lib/fail-point.ts";
import type { DriveLog } from "./deps.ts";

export interface CredentialAnswersDeps {
  readonly broker: CredentialBroker;
  readonly hands: CredentialQuestions;
  readonly clock: Clock;
  /** Where a test may end the process. */
  readonly failPoint: (name: FailPoint) => void;
  readonly log: DriveLog;
}

/**
 * Answers what hands ask of the credentials of sessions, until the signal is aborted. A question that was not answered,
 * because the store or this process failed, is asked again.
 */
export async function answerQuestions(
  deps: CredentialAnswersDeps,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    for (const asked of await deps.hands.nextQuestions(signal)) void answer(asked, deps);
  }
}

async function answer(asked: AskedQuestion, deps: CredentialAnswersDeps): Promise<void> {
  const { broker, hands, failPoint, log } = deps;
  try {
    failPoint("serve.question.before");
    const said = await broker.answer(asked.question);
    failPoint("serve.question.after");
    await hands.answerQuestion(asked, said);
  } catch (error) {
    // What cannot be stored now is said by `/health`, and asked again.
    if (error instanceof StoreUnavailableError) return;
    const { type } = asked.question;
    log.error({ err: error, question: type }, "a question of the hands was not answered");
  }
}
