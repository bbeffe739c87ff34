import type { ModelOutcome } from "../core/ports/model.ts";
import type { ResponseBuilder } from "./response-builder.ts";
import { ResponseWatch, type WatchLimits } from "./response-watch.ts";

/** What `ask` gives, or the outcome of the caller's abort or of a limit that was passed before. */
export async function watched(
  limits: WatchLimits,
  signal: AbortSignal,
  builder: ResponseBuilder,
  ask: (watch: ResponseWatch) => Promise<ModelOutcome>,
): Promise<ModelOutcome> {
  const watch = new ResponseWatch(limits, signal);
  try {
    const ended = new Promise<"cut">((resolve) => {
      if (watch.signal.aborted) resolve("cut");
      else watch.signal.addEventListener("abort", () => resolve("cut"), { once: true });
    });
    const outcome = await Promise.race([ask(watch), ended]);
    return outcome === "cut" || watch.signal.aborted ? cutOutcome(watch, builder) : outcome;
  } finally {
    watch.close();
  }
}

function cutOutcome({ cut }: ResponseWatch, builder: ResponseBuilder): ModelOutcome {
  if (cut === undefined) {
    const message = "The request was aborted.";
    return { type: "failure", kind: "aborted", message, retryable: false, ...told(builder) };
  }
  return { type: "failure", kind: "connection", ...cut, ...told(builder) };
}

/** The tokens that were told before it failed, if any. */
export function told({
  usage,
}: ResponseBuilder): Pick<Extract<ModelOutcome, { type: "failure" }>, "usage"> {
  return Object.keys(usage).length > 0 ? { usage } : {};
}
