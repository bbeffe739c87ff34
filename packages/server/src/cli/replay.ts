import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import type { SessionReplayParams } from "@drover/api";
import { OperatorError } from "../lib/operator-error.ts";
import { isSummary, replayText } from "./replay-report.ts";
import type { RunningServer } from "./running-server.ts";
import { bodyOf, pathOf } from "./sessions.ts";

/** Says each line of the report as it comes: for people, or as the server sent it. */
export async function replaySession(
  server: RunningServer,
  id: string,
  {
    params,
    asJson,
    say,
  }: { params: SessionReplayParams; asJson: boolean; say: (text: string) => void },
): Promise<void> {
  const { body } = await server.request("POST", `${pathOf(id)}/replay`, {
    contentType: "application/json",
    body: JSON.stringify(params),
  });
  let isWhole = false;
  const cut = (cause?: unknown) =>
    new OperatorError("The replay was cut off: the server ended, or its connection did.", {
      cause,
    });
  try {
    for await (const line of createInterface(Readable.fromWeb(bodyOf(body)))) {
      isWhole = isSummary(line);
      say(asJson ? line : replayText(line));
    }
  } catch (cause) {
    throw cut(cause);
  }
  if (!isWhole) throw cut();
}
