/**
 * The model of a benchmark, as a process of its own: the strict double, which answers by the script in
 * each message, and which tells its parent when it was asked.
 */
import {
  type JsonObject,
  scriptedByMessages,
  startMessagesApi,
} from "../../packages/testing/src/index.ts";
import { nowMs } from "./lib/clock.ts";

export type FromModel =
  | { readonly type: "ready"; readonly url: string; readonly apiKey: string }
  /** A request was read, checked and is about to be answered; `label` is its message's `#sample`. */
  | { readonly type: "asked"; readonly label: string; readonly atMs: number }
  | { readonly type: "last_body"; readonly body: JsonObject | null };

export type ToModel = { readonly type: "get_last_body" };

const LABEL = /^#sample (\S+)$/m;

const byMessages = scriptedByMessages();
let lastBody: JsonObject | null = null;

const api = await startMessagesApi({
  keep: 0,
  script: (request, n) => {
    tell({ type: "asked", label: LABEL.exec(request.lastUserText)?.[1] ?? "", atMs: nowMs() });
    lastBody = request.body;
    return typeof byMessages === "function" ? byMessages(request, n) : {};
  },
});

process.on("message", () => tell({ type: "last_body", body: lastBody }));
process.once("disconnect", () => process.exit(0));
tell({ type: "ready", url: api.url, apiKey: api.apiKey });

function tell(message: FromModel): void {
  process.send?.(message);
}
