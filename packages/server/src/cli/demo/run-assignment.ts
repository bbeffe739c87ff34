import { setTimeout as pause } from "node:timers/promises";
import type Anthropic from "@anthropic-ai/sdk";
import type { SessionHand } from "@drover/api";
import { OperatorError } from "../../lib/operator-error.ts";
import type { DemoServer } from "./demo-server.ts";
import { lineOf } from "./event-line.ts";
import { type Outage, proveRunOnce, type RunOnce, remarkOn } from "./run-once.ts";
import { type SessionEvent, watchSession } from "./session-watch.ts";
import type { Transcript } from "./transcript.ts";

/** A command that has run so long without a result is in its middle. */
const MIDDLE_MS = 5_000;
/** Between two looks whether a call was sent to the sandbox. */
const LOOK_MS = 100;
/** How long the server stays dead, so that it can be seen that the command does not care. */
const DEAD_MS = 2_000;
const WORK_MS_MAX = 15 * 60_000;

/**
 * Shows the session's work until its turn ends, and kills and restarts the server in the middle of the
 * first long command. Resolves to what that command's log and output prove.
 */
export async function runAssignment(
  client: Anthropic,
  assignment: { sessionId: string },
  server: DemoServer,
  transcript: Transcript,
): Promise<RunOnce> {
  const events: SessionEvent[] = [];
  const watching = new AbortController();
  const path = `/v1/drover/sessions/${assignment.sessionId}/hand`;
  const isSent = async () => (await client.get<SessionHand>(path)).is_used;
  const accident = new Accident(server, transcript, isSent);
  const timer = setTimeout(() => watching.abort(), WORK_MS_MAX);
  try {
    for await (const seen of watchSession(client, assignment.sessionId, watching.signal)) {
      if (seen.type !== "event") {
        accident.connection(seen.type);
        continue;
      }
      events.push(seen.event);
      accident.observe(seen.event);
      const line = lineOf(seen.event);
      if (line !== undefined) {
        transcript.say(line.voice, line.text, (text) => remarkOn(text, accident.outage));
      }
      if (isEnd(seen.event)) return await accident.findings(events);
    }
  } finally {
    clearTimeout(timer);
    watching.abort();
    accident.cancel();
  }
  throw new OperatorError(`The agent was not finished after ${WORK_MS_MAX / 60_000} minutes.`);
}

/** The death of the server, once, in the middle of the first command that takes long enough. */
class Accident {
  readonly #server: DemoServer;
  readonly #transcript: Transcript;
  readonly #isSent: () => Promise<boolean>;
  #running: string | undefined;
  #waiting: Promise<void> | undefined;
  #victim: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #happening: Promise<Outage> | undefined;
  #outage: Outage | undefined;

  constructor(server: DemoServer, transcript: Transcript, isSent: () => Promise<boolean>) {
    this.#server = server;
    this.#transcript = transcript;
    this.#isSent = isSent;
  }

  /** Once it is over. */
  get outage(): Outage | undefined {
    return this.#outage;
  }

  observe(event: SessionEvent): void {
    if (this.#happening !== undefined) return;
    if (event.type === "agent.tool_use" && event.name === "bash") {
      this.#running = event.id;
      clearTimeout(this.#timer);
      this.#waiting = this.#waitFor(event.id);
      // As with what happens then: whoever asks for the findings gets the failure.
      this.#waiting.catch(() => undefined);
    } else if (event.type === "agent.tool_result" && event.tool_use_id === this.#running) {
      this.#running = undefined;
      clearTimeout(this.#timer);
    }
  }

  /**
   * The first call waits for the hands to be started: on a busy machine that alone takes so long that a short
   * command would be taken for a long one.
   */
  async #waitFor(callId: string): Promise<void> {
    while (this.#running === callId && !(await this.#isSent())) await pause(LOOK_MS);
    if (this.#running !== callId || this.#happening !== undefined) return;
    this.#timer = setTimeout(() => this.#happen(callId), MIDDLE_MS);
  }

  connection(state: "connected" | "disconnected"): void {
    if (this.#happening === undefined) return;
    this.#transcript.say(
      "stream",
      state === "connected" ? "connected again" : "broken, as expected",
    );
  }

  cancel(): void {
    this.#running = undefined;
    clearTimeout(this.#timer);
  }

  async findings(events: readonly SessionEvent[]): Promise<RunOnce> {
    await this.#waiting;
    if (this.#victim === undefined || this.#happening === undefined) {
      return {
        isProved: false,
        findings: [`No command took ${MIDDLE_MS / 1000} seconds, so the server was not killed.`],
      };
    }
    return proveRunOnce(events, this.#victim, await this.#happening);
  }

  #happen(callId: string): void {
    this.#victim = callId;
    this.#happening = this.#killAndRestart();
    // Whoever asks for the findings gets the failure; until then it must not end the process.
    this.#happening.catch(() => undefined);
  }

  async #killAndRestart(): Promise<Outage> {
    const { pid } = this.#server;
    const killed = this.#server.kill();
    this.#transcript.say("kill -9", `process ${pid}, the server, in the middle of the command`);
    await killed;
    const from = Date.now();
    await new Promise((resolve) => setTimeout(resolve, DEAD_MS));
    await this.#server.start();
    const to = Date.now();
    this.#transcript.say(
      "server",
      `started again after ${((to - from) / 1000).toFixed(1)} s (process ${this.#server.pid}), on the same folder and port`,
    );
    this.#outage = { from, to };
    return this.#outage;
  }
}

function isEnd(event: SessionEvent): boolean {
  if (event.type === "session.status_terminated" || event.type === "session.deleted") return true;
  return event.type === "session.status_idle" && event.stop_reason.type !== "requires_action";
}
