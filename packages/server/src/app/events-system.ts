import type { ClientEventParams } from "@drover/api";
import { InvalidRequestError } from "../core/errors.ts";
import type { FindModel } from "../core/models/offered-models.ts";
import { systemTurnsOf } from "../core/models/system-turns.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import { keyOf } from "./input.ts";
import { isBlocked } from "./session-state.ts";

const RESULTS: readonly ClientEventParams["type"][] = [
  "user.tool_result",
  "user.custom_tool_result",
];
const COMPANIONS: readonly ClientEventParams["type"][] = ["user.message", ...RESULTS];

interface Given {
  readonly events: readonly ClientEventParams[];
  readonly findModel: FindModel;
}

/**
 * Refuses a `system.message` in the wrong place of its request: it is the last event, so there is one at
 * most, and comes directly after the input that it accompanies. A session that waits for its client's
 * answers takes one only along with a result. And the session's model must take such messages.
 */
export async function assertSystemMessage(
  tx: StoreTransaction,
  session: SessionRecord,
  { events, findModel }: Given,
): Promise<void> {
  const index = events.findIndex(({ type }) => type === "system.message");
  if (index < 0) return;
  const place = `events.${index}`;
  assertPlace(events, index, place);
  const { id } = session.agent.model;
  if (systemTurnsOf(id, findModel) === "refused") {
    throw new InvalidRequestError(`${place}: model ${id} takes no system messages`, {
      code: "model_does_not_support_mid_conversation_system",
    });
  }
  const hasResult = events.some(({ type }) => RESULTS.includes(type));
  if (!hasResult && session.status === "idle" && (await isBlocked(tx, keyOf(session)))) {
    throw new InvalidRequestError(
      `${place}: a session that waits for answers takes a system.message only along with a result`,
    );
  }
}

function assertPlace(events: readonly ClientEventParams[], index: number, place: string): void {
  if (index !== events.length - 1) {
    throw new InvalidRequestError(
      `${place}: a system.message must be the last event of its request`,
    );
  }
  const companion = events[index - 1];
  if (companion === undefined || !COMPANIONS.includes(companion.type)) {
    throw new InvalidRequestError(
      `${place}: a system.message must directly follow one of ${COMPANIONS.join(", ")}`,
    );
  }
}
