import assert from "node:assert/strict";
import type { Target, WireAnswer } from "../target.ts";
import { newSession } from "./fixtures.ts";
import { message, script } from "./turns.ts";
import { Watch, type WatchOptions } from "./watch.ts";

/** Sends events as they are, also such as the official client's types would not let through. */
export function send(
  t: Target,
  sessionId: string,
  events: readonly unknown[],
): Promise<WireAnswer> {
  return t.request("POST", `/v1/sessions/${sessionId}/events`, { body: { events } });
}

/** A session in the middle of a model request that takes longer than any scenario, and its stream. */
export async function busySession(t: Target, options: WatchOptions = {}) {
  const session = await newSession(t);
  const watch = await Watch.open(t, session.id, options);
  await sendText(t, session.id, script("- say: too late\n  wait_ms: 60000"));
  await watch.untilType("span.model_request_start");
  return { session, watch };
}

/** Gives the id of the message. */
export async function sendText(t: Target, sessionId: string, text: string): Promise<string> {
  const sent = await t.client.beta.sessions.events.send(sessionId, { events: [message(text)] });
  return idOf(sent);
}

/** Gives the id of the interrupt. */
export async function interrupt(t: Target, sessionId: string): Promise<string> {
  const sent = await t.client.beta.sessions.events.send(sessionId, {
    events: [{ type: "user.interrupt" }],
  });
  return idOf(sent);
}

function idOf({ data }: { data?: readonly { id: string }[] }): string {
  const [echo] = data ?? [];
  assert(echo !== undefined, "the answer has no echo");
  return echo.id;
}
