import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import Anthropic from "@anthropic-ai/sdk";
import type { MessageCreateParamsStreaming } from "@anthropic-ai/sdk/resources/messages";
import type { FromModel, ToModel } from "../model-process.ts";
import { keepTrackOf, killChild } from "./children.ts";
import { within } from "./clock.ts";
import { type Turn, textOf } from "./turn.ts";

const MAIN = fileURLToPath(new URL("../model-process.ts", import.meta.url));
const START_MS = 20_000;
const ANSWER_MS = 20_000;

/** The id that agents name; the double knows it as a current model. */
export const MODEL_ID = "claude-opus-5-5";

/** The model all servers and the direct client of a run share. */
export interface Model extends AsyncDisposable {
  readonly url: string;
  readonly apiKey: string;
  /** The official SDK's client of the model itself: what a user has without Drover. */
  readonly direct: Anthropic;
  /** When the request with that label was asked; waits until it is. Once for each label. */
  askedAt(label: string): Promise<number>;
  /** Makes requests like the newest one, with another message: to ask directly for what Drover asks. */
  likeLast(): Promise<(turn: Turn) => MessageCreateParamsStreaming>;
}

export async function startModel(): Promise<Model> {
  const child = keepTrackOf(
    fork(MAIN, {
      execArgv: ["--conditions=drover-source"],
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    }),
  );
  const asked = new Arrivals();
  child.on("message", (message: FromModel) => {
    if (message.type === "asked") asked.put(message.label, message.atMs);
  });
  const receive = async <T extends FromModel["type"]>(type: T) => {
    for (;;) {
      const [message] = (await once(child, "message")) as [FromModel];
      if (message.type === type) return message as Extract<FromModel, { type: T }>;
    }
  };
  const ready = await within(START_MS, "the start of the model", receive("ready"));
  return {
    url: ready.url,
    apiKey: ready.apiKey,
    direct: new Anthropic({ baseURL: ready.url, apiKey: ready.apiKey, maxRetries: 0 }),
    askedAt: (label) => within(ANSWER_MS, `the request ${label}`, asked.take(label)),
    likeLast: async () => {
      const answer = receive("last_body");
      child.send({ type: "get_last_body" } satisfies ToModel);
      const { body } = await within(ANSWER_MS, "the model's newest request", answer);
      if (body === null) throw new Error("the model was not asked yet");
      // Checked by the double when it came in.
      const params = body as unknown as MessageCreateParamsStreaming;
      return (turn) => ({
        ...params,
        stream: true,
        messages: [{ role: "user", content: [{ type: "text", text: textOf(turn) }] }],
      });
    },
    [Symbol.asyncDispose]: () => killChild(child, "SIGKILL"),
  };
}

class Arrivals {
  readonly #times = new Map<string, number>();
  readonly #waiting = new Map<string, (atMs: number) => void>();

  put(label: string, atMs: number): void {
    const waiting = this.#waiting.get(label);
    this.#waiting.delete(label);
    // The first one counts: later requests of the same turn carry the same message.
    if (waiting !== undefined) waiting(atMs);
    else if (!this.#times.has(label)) this.#times.set(label, atMs);
  }

  take(label: string): Promise<number> {
    const atMs = this.#times.get(label);
    if (atMs !== undefined) {
      this.#times.delete(label);
      return Promise.resolve(atMs);
    }
    return new Promise((resolve) => this.#waiting.set(label, resolve));
  }
}
