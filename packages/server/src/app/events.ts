import type { ClientEventParams } from "@drover/api";
import { InvalidRequestError, NotImplementedError, unreachable } from "../core/errors.ts";
import type { FindModel } from "../core/models/offered-models.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import type { InboxEvent, LogEvent } from "../core/session/log-event.ts";
import { toWire, type WireEvent } from "../core/session/wire.ts";
import { newId } from "../lib/new-id.ts";
import { isAnswer, refuseAnswer, WaitingCalls } from "./events-answers.ts";
import { assertContent } from "./events-content.ts";
import { assertFiles } from "./events-files.ts";
import { assertSystemMessage } from "./events-system.ts";
import { acceptInput, type InputDraft, keyOf, receiveAnswers } from "./input.ts";
import { assertWithinBudget, isHeld } from "./sessions-budget.ts";
import { existing } from "./sessions-wire.ts";

export interface SentEvents {
  readonly events: readonly ClientEventParams[];
  /** True if a stream of the session is open. */
  readonly isWatched: boolean;
  readonly findModel: FindModel;
}

/**
 * Takes what a client sends: all of it or, with the first problem named, nothing. Answers the events
 * with their final ids, `processed_at` null while they wait to be taken up.
 */
export async function sendEvents(
  tx: StoreTransaction,
  key: SessionKey,
  { events, isWatched, findModel }: SentEvents,
): Promise<{ data: readonly WireEvent[] }> {
  const session = existing(await tx.sessions.lock(key), key);
  assertOpen(session);
  assertWithinBudget(session, events, tx.now);
  await assertSystemMessage(tx, session, { events, findModel });
  await assertFiles(tx, key.workspaceId, events);
  const waiting = events.some(isAnswer) ? await WaitingCalls.read(tx, session) : undefined;
  const drafts = events.map((event, index) => {
    const place = `events.${index}`;
    return isAnswer(event) && waiting !== undefined
      ? { answer: waiting.answer(event, place) }
      : { input: inputDraft(session, event, place) };
  });
  // The input first: a session that has both is due once, with all of it there.
  const inputs = drafts.flatMap(({ input }) => input ?? []);
  const answers = drafts.flatMap(({ answer }) => answer ?? []);
  const accepted = await takeInput(tx, session, inputs);
  const received = answers.length === 0 ? [] : await receiveAnswers(tx, session, answers);
  const stored = new Map([...accepted, ...received].map((event) => [event.id, toWire(event)]));
  const ids = drafts.map(({ input, answer }) => (answer ?? input).id);
  // Whoever reads along sees it come; a stream that is opened later is not to show it again.
  if (isWatched) await tx.sessions.attachStream(key, 0);
  return { data: ids.flatMap((id) => stored.get(id) ?? []) };
}

async function takeInput(
  tx: StoreTransaction,
  session: SessionRecord,
  inputs: readonly InputDraft[],
): Promise<readonly (InboxEvent | LogEvent)[]> {
  if (inputs.length === 0) return [];
  // Nothing else than interrupts has come so far.
  if (isHeld(session, tx.now)) return await tx.events.appendReceipts(keyOf(session), inputs);
  return await acceptInput(tx, session, inputs);
}

/** One event of a client as input for the session's primary thread; refuses what cannot be taken. */
export function inputDraft(
  session: Pick<SessionRecord, "thread_id">,
  event: ClientEventParams,
  place: string,
): InputDraft {
  const envelope = { id: newId("sevt"), thread_id: session.thread_id, cross_posted: false };
  switch (event.type) {
    case "user.message": {
      for (const [index, block] of event.content.entries()) {
        assertContent(block, `${place}.content.${index}`);
      }
      const { type, ...body } = event;
      return { ...envelope, type, public: body, private: {} };
    }
    case "system.message": {
      for (const [index, block] of event.content.entries()) {
        assertContent(block, `${place}.content.${index}`);
      }
      const { type, ...body } = event;
      return { ...envelope, type, public: body, private: {} };
    }
    case "user.interrupt": {
      assertOwnThread(session, event.session_thread_id, place);
      const { type, ...body } = event;
      return { ...envelope, type, public: body, private: {} };
    }
    default:
      return refuse(event, place);
  }
}

function refuse(
  event: Exclude<ClientEventParams, { type: "user.message" | "system.message" | "user.interrupt" }>,
  place: string,
): never {
  switch (event.type) {
    case "user.tool_confirmation":
    case "user.custom_tool_result":
      return refuseAnswer(event, place);
    case "user.tool_result":
      throw new InvalidRequestError(
        `${place}: user.tool_result is for sessions in self-hosted environments`,
      );
    case "user.define_outcome":
      throw new NotImplementedError(`${place}: not implemented in this version: ${event.type}`);
    default:
      return unreachable(event);
  }
}

function assertOpen(session: SessionRecord): void {
  if (session.archived_at !== null) {
    throw new InvalidRequestError(`session ${session.id} is archived and takes no events`);
  }
  if (session.status === "terminated") {
    throw new InvalidRequestError(`session ${session.id} is terminated and takes no events`);
  }
}

function assertOwnThread(
  session: Pick<SessionRecord, "thread_id">,
  threadId: string | null | undefined,
  place: string,
): void {
  if (typeof threadId === "string" && threadId !== session.thread_id) {
    throw new InvalidRequestError(
      `${place}.session_thread_id: the session has no thread ${threadId.slice(0, 128)}`,
    );
  }
}
