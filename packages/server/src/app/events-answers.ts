import type { ClientEventParams } from "@drover/api";
import { InvalidRequestError } from "../core/errors.ts";
import { waitsForClient } from "../core/harness/open-calls.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import type { EventDraft } from "../core/session/log-event.ts";
import { type OpenCall, threadState } from "../core/session/state.ts";
import { newId } from "../lib/new-id.ts";
import { assertContent } from "./events-content.ts";
import { keyOf } from "./input.ts";
import { readState } from "./session-state.ts";

export type AnswerParams = Extract<
  ClientEventParams,
  { type: "user.tool_confirmation" | "user.custom_tool_result" }
>;
/** Whose calls are the user's to allow. */
const CONFIRMED: readonly OpenCall["kind"][] = ["hands", "mcp"];

type Call = OpenCall & { readonly threadId: string };

export function isAnswer(event: ClientEventParams): event is AnswerParams {
  return event.type === "user.tool_confirmation" || event.type === "user.custom_tool_result";
}

/**
 * The calls of a session that wait for its client, to be answered once each. Read under the session's
 * lock, so that of two requests that answer the same call one finds it answered.
 */
export class WaitingCalls {
  readonly #calls: Map<string, Call>;

  private constructor(calls: readonly Call[]) {
    this.#calls = new Map(calls.map((call) => [call.id, call]));
  }

  static async read(tx: StoreTransaction, session: SessionRecord): Promise<WaitingCalls> {
    const threadId = session.thread_id;
    const { calls } = threadState(await readState(tx, keyOf(session)), threadId);
    return new WaitingCalls(calls.filter(waitsForClient).map((call) => ({ ...call, threadId })));
  }

  /**
   * The event that answers its call. Refuses an answer that no call waits for: one that is not there,
   * is answered already, or waits for something else. `place` names the event in messages.
   */
  answer(event: AnswerParams, place: string): EventDraft {
    // The thread is the call's; what a client names is neither used nor kept.
    const { session_thread_id: _ignored, ...given } = event;
    switch (given.type) {
      case "user.tool_confirmation": {
        assertDenyMessage(given, place);
        const id = `${place}.tool_use_id`;
        const call = this.#take(given.tool_use_id, CONFIRMED, {
          place: id,
          what: "a confirmation",
        });
        const { type, ...body } = given;
        return { ...envelope(call), type, public: body, private: {} };
      }
      case "user.custom_tool_result": {
        for (const [index, block] of (given.content ?? []).entries()) {
          assertContent(block, `${place}.content.${index}`);
        }
        const id = `${place}.custom_tool_use_id`;
        const call = this.#take(given.custom_tool_use_id, ["client"], {
          place: id,
          what: "a result",
        });
        const { type, ...body } = given;
        return { ...envelope(call), type, public: body, private: {} };
      }
    }
  }

  #take(
    id: string,
    kinds: readonly OpenCall["kind"][],
    { place, what }: { place: string; what: string },
  ): Call {
    const call = this.#calls.get(id);
    if (call === undefined || !kinds.includes(call.kind)) throw unknownCall(place, id, what);
    this.#calls.delete(id);
    return call;
  }
}

/** An answer that comes where no call can be. */
export function refuseAnswer(event: AnswerParams, place: string): never {
  if (event.type === "user.custom_tool_result") {
    throw unknownCall(`${place}.custom_tool_use_id`, event.custom_tool_use_id, "a result");
  }
  assertDenyMessage(event, place);
  throw unknownCall(`${place}.tool_use_id`, event.tool_use_id, "a confirmation");
}

function envelope({ threadId }: Call) {
  return { id: newId("sevt"), thread_id: threadId, cross_posted: false };
}

function assertDenyMessage(
  event: Extract<AnswerParams, { type: "user.tool_confirmation" }>,
  place: string,
): void {
  if (event.result === "allow" && typeof event.deny_message === "string") {
    throw new InvalidRequestError(`${place}.deny_message: only goes with result deny`);
  }
}

function unknownCall(place: string, id: string, what: string): InvalidRequestError {
  return new InvalidRequestError(`${place}: no tool use ${id.slice(0, 128)} waits for ${what}`);
}
