import type { CallOutcome, OutputFile } from "../../core/ports/hands.ts";
import { installationOf } from "../../core/sandboxes/boot-id.ts";
import type { HandsAnswer } from "./hands-connection.ts";
import { CallAnswer, Refusal } from "./messages.ts";

export const LOST_MESSAGE =
  "The hands that had this call ended. Whether and how far it took effect is unknown, and nothing of " +
  "it still runs. It is not run again.";
export const OUT_OF_REACH_MESSAGE =
  "This call was sent to another machine, which cannot be asked from here. Whether and how far it took effect " +
  "is unknown, and it may still run there. Its result will not come, and it is not run again.";

/** What hands that live can say of a call that was sent to another boot than theirs. */
export function otherBootsOutcome(handsBoot: string, installationId: string): CallOutcome {
  return installationOf(handsBoot) === installationId
    ? { type: "lost", message: LOST_MESSAGE }
    : { type: "out_of_reach", message: OUT_OF_REACH_MESSAGE };
}

/** Without an outcome while the call runs. */
export function readCallAnswer(answer: HandsAnswer): {
  readonly outcome?: CallOutcome;
  readonly outputs: readonly OutputFile[];
} {
  if (answer.status !== 200) return { outcome: refusalOf(answer), outputs: [] };
  const call = CallAnswer.parse(answer.body);
  return call.state === "done"
    ? { outcome: call.outcome, outputs: [] }
    : { outputs: call.outputs ?? [] };
}

function refusalOf({ status, body }: HandsAnswer): CallOutcome {
  const refusal = Refusal.safeParse(body).data;
  const message = refusal?.message ?? `the hands answered with status ${status}`;
  if (refusal?.reason === "stale_boot") return { type: "lost", message: LOST_MESSAGE };
  if (refusal?.reason === "foreign_boot") {
    return { type: "out_of_reach", message: OUT_OF_REACH_MESSAGE };
  }
  // 404 is a call that was settled by another brain since it was sent; 4xx one that cannot be sent.
  return status >= 500 ? { type: "unavailable", message } : { type: "refused", message };
}

export function outputsPath(handId: string): string {
  return `/v1/hands/${encodeURIComponent(handId)}/outputs`;
}

export function callPath(callId: string): string {
  return `/v1/calls/${encodeURIComponent(callId)}`;
}
