import type { ClientEventParams } from "@drover/api";
import { InvalidRequestError, NotImplementedError, unreachable } from "../core/errors.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import { toWire, type WireEvent } from "../core/session/wire.ts";
import { newId } from "../lib/new-id.ts";
import { assertContent } from "./events-content.ts";
import { assertSystemMessage } from "./events-system.ts";
import { acceptInput, type InputDraft } from "./input.ts";
import { existing } from "./sessions-wire.ts";

export interface SentEvents {
  readonly events: readonly ClientEventParams[];
  /** True if a stream of the session is open. */
  readonly isWatched: boolean;
}

/**
 * Takes what a client sends: all of it or, with the first problem named, nothing. Answers the events
 * with their final ids, `processed_at` null while they wait to be taken up.
 */
export async function sendEvents(
  tx: StoreTransaction,
  key: SessionKey,
  { events, isWatched }: SentEvents,
): Promise<{ data: readonly WireEvent[] }> {
  const session = existing(await tx.sessions.lock(key), key);
  assertOpen(session);
  assertSystemMessage(events);
  const drafts = events.map((event, index) => inputDraft(session, event, `events.${index}`));
  const accepted = await acceptInput(tx, session, drafts);
  // Whoever reads along sees it come; a stream that is opened later is not to show it again.
  if (isWatched) await tx.sessions.attachStream(key, 0);
  return { data: accepted.map(toWire) };
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
  event: Exclude<ClientEventParams, { type: "user.message" | "user.interrupt" }>,
  place: string,
): never {
  switch (event.type) {
    case "user.tool_confirmation":
      if (event.result === "allow" && typeof event.deny_message === "string") {
        throw new InvalidRequestError(`${place}.deny_message: only goes with result deny`);
      }
      throw unknownCall(`${place}.tool_use_id`, event.tool_use_id, "a confirmation");
    case "user.custom_tool_result":
      throw unknownCall(`${place}.custom_tool_use_id`, event.custom_tool_use_id, "a result");
    case "user.tool_result":
      throw new InvalidRequestError(
        `${place}: user.tool_result is for sessions in self-hosted environments`,
      );
    case "user.define_outcome":
    case "system.message":
      throw new NotImplementedError(`${place}: not implemented in this version: ${event.type}`);
    default:
      return unreachable(event);
  }
}

/** No tool of this version waits for its client, so no id can be right. */
function unknownCall(place: string, id: string, what: string): InvalidRequestError {
  return new InvalidRequestError(`${place}: no tool use ${id.slice(0, 128)} waits for ${what}`);
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
