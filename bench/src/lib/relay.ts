import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { MessageCreateParamsStreaming } from "@anthropic-ai/sdk/resources/messages";
import type { RelayReady } from "../relay-process.ts";
import { keepTrackOf, killChild } from "./children.ts";
import { within } from "./clock.ts";
import type { Model } from "./model.ts";

const MAIN = fileURLToPath(new URL("../relay-process.ts", import.meta.url));
const START_MS = 20_000;

export interface Relay extends AsyncDisposable {
  readonly pid: number;
  /** Relays the answer to a reader that takes it all; resolves to the number of frames. */
  read(request: MessageCreateParamsStreaming): Promise<number>;
}

export async function startRelay(model: Model): Promise<Relay> {
  const child = keepTrackOf(
    fork(MAIN, [model.url, model.apiKey], { stdio: ["ignore", "inherit", "inherit", "ipc"] }),
  );
  const [ready] = (await within(START_MS, "the start of the relay", once(child, "message"))) as [
    RelayReady,
  ];
  return {
    pid: child.pid ?? 0,
    read: async (request) => {
      const response = await fetch(ready.url, { method: "POST", body: JSON.stringify(request) });
      return (await response.text()).split("\n\n").length - 1;
    },
    [Symbol.asyncDispose]: () => killChild(child, "SIGKILL"),
  };
}
