import type Anthropic from "@anthropic-ai/sdk";
import type { BetaManagedAgentsSessionEvent } from "@anthropic-ai/sdk/resources/beta/sessions/events";
import { OperatorError } from "../../lib/operator-error.ts";

export type SessionEvent = BetaManagedAgentsSessionEvent;

export type Seen =
  | { readonly type: "event"; readonly event: SessionEvent }
  | { readonly type: "connected" }
  | { readonly type: "disconnected" };

const RETRY_MS = 200;
const GIVE_UP_MS = 60_000;

/**
 * Follows a session through any number of broken connections: every event once, in the log's order.
 * Each time it opens the stream first and then reads the history, so that nothing falls in between.
 * Rejects if the server stays away for a minute.
 */
export async function* watchSession(
  client: Anthropic,
  sessionId: string,
  signal: AbortSignal,
): AsyncGenerator<Seen> {
  const news = new News();
  while (!signal.aborted) {
    for await (const seen of oneConnection(client, sessionId, signal)) {
      if (news.isNew(seen)) yield seen;
    }
    if (news.lostForMs() > GIVE_UP_MS) {
      throw new OperatorError("The server did not come back; its log says why.");
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** Tells what the reader has not heard yet. */
class News {
  readonly #events = new Set<string>();
  #isConnected = true;
  #lostAt = 0;

  isNew(seen: Seen): boolean {
    if (seen.type === "event") {
      const before = this.#events.size;
      return this.#events.add(seen.event.id).size > before;
    }
    const isConnected = seen.type === "connected";
    if (isConnected === this.#isConnected) return false;
    this.#isConnected = isConnected;
    this.#lostAt = Date.now();
    return true;
  }

  lostForMs(): number {
    return this.#isConnected ? 0 : Date.now() - this.#lostAt;
  }
}

/** Never rejects: whatever breaks it is one more lost connection, and the next one will tell. */
async function* oneConnection(
  client: Anthropic,
  sessionId: string,
  signal: AbortSignal,
): AsyncGenerator<Seen> {
  try {
    const stream = await client.beta.sessions.events.stream(sessionId, {}, { signal });
    yield { type: "connected" };
    const history = client.beta.sessions.events.list(sessionId, { limit: 1000 }, { signal });
    for await (const event of history) yield { type: "event", event };
    for await (const event of stream) {
      if (event.type === "event_start" || event.type === "event_delta") continue;
      yield { type: "event", event };
    }
  } catch {
    // Told by the line below.
  }
  yield { type: "disconnected" };
}
