import type { ClientEventParams } from "@drover/api";
import { InvalidRequestError } from "../core/errors.ts";

const COMPANIONS: readonly ClientEventParams["type"][] = [
  "user.message",
  "user.tool_result",
  "user.custom_tool_result",
];

/**
 * Refuses a `system.message` in the wrong place of its request: it is the last event, so there is one at
 * most, and comes directly after the input that it accompanies.
 */
export function assertSystemMessage(events: readonly ClientEventParams[]): void {
  const index = events.findIndex(({ type }) => type === "system.message");
  if (index < 0) return;
  if (index !== events.length - 1) {
    throw new InvalidRequestError(
      `events.${index}: a system.message must be the last event of its request`,
    );
  }
  const companion = events[index - 1];
  if (companion === undefined || !COMPANIONS.includes(companion.type)) {
    throw new InvalidRequestError(
      `events.${index}: a system.message must directly follow one of ${COMPANIONS.join(", ")}`,
    );
  }
}
