import {
  type Answer,
  answer,
  failing,
  type MessagesRequest,
  Random,
  rateLimited,
  text,
  thinking,
  toolCall,
} from "@drover/testing";
import type { LogEvent, LogEventOf } from "../../core/session/log-event.ts";
import type { ModelStep, SessionPlan } from "./plan.ts";
import { hashOf } from "./user.ts";

const HOURS_SECONDS = 7_200;

/** The turn of the plan that the log is in: the one whose marker came last. */
export function turnOf(log: readonly LogEvent[]): { turn: number; seq: number } | undefined {
  for (const event of log.toReversed()) {
    const marker = event.type === "user.message" ? /^turn (\d+) begins$/.exec(textOf(event)) : null;
    if (marker !== null) return { turn: Number(marker[1]), seq: event.seq };
  }
  return undefined;
}

/**
 * What the model says next, decided by the log alone: the n-th request of a turn that came to an end
 * got the n-th step of its plan. A request that was lost with its process is answered again, alike.
 */
export function stepOf(plan: SessionPlan, log: readonly LogEvent[]): ModelStep {
  const current = turnOf(log);
  if (current === undefined)
    return { kind: "answer", name: "early", answer: answer(text("Hello.")) };
  const { turn, seq } = current;
  const ended = endedRequests(log, ({ purpose }) => purpose === undefined);
  const own = ended.filter((end) => end.seq > seq).length;
  const last = {
    kind: "answer" as const,
    name: "done",
    answer: answer(text(`Turn ${turn} is done.`)),
  };
  return plan.turns[turn]?.steps[own] ?? last;
}

/** What the model says when it is asked for a summary; undefined if the open request is for none. */
export function summaryAnswer(plan: SessionPlan, log: readonly LogEvent[]): Answer | undefined {
  const open = log.findLast((event) => event.type === "span.model_request_start");
  if (open?.type !== "span.model_request_start" || open.private.purpose === undefined) {
    return undefined;
  }
  const before = endedRequests(log, ({ purpose }) => purpose !== undefined).length;
  const random = new Random(plan.seed + before);
  const summary = answer(text(`Summary ${before}: all is well.`));
  return random.pick([
    summary,
    summary,
    summary,
    answer(thinking("What was it?"), text("It was about tools. ".repeat(random.int(1, 40)))),
    answer(),
    answer(toolCall("read", { deed: "ok" })),
    failing({ type: "status", status: 529, error_type: "overloaded_error" }),
    failing({ type: "cut", afterEvents: 3 }, text("A summary that is cut off in the middle.")),
  ]);
}

/** The ends of requests that were not lost or interrupted. */
function endedRequests(
  log: readonly LogEvent[],
  isWanted: (start: LogEventOf<"span.model_request_start">["private"]) => boolean,
): readonly LogEvent[] {
  const wanted = new Set(
    log.flatMap((event) =>
      event.type === "span.model_request_start" && isWanted(event.private) ? [event.id] : [],
    ),
  );
  return log.filter(
    (event) =>
      event.type === "span.model_request_end" &&
      wanted.has(event.public.model_request_start_id) &&
      (event.private.outcome === "response" || event.private.outcome === "failed"),
  );
}

/** What the judge says of a call, decided by the call alone; undefined if the request is no judge's. */
export function judgeAnswer(request: MessagesRequest): Answer | undefined {
  if (!JSON.stringify(request.body["system"] ?? "").includes("You decide whether one tool call")) {
    return undefined;
  }
  const label = /t\d+\w+/.exec(request.lastUserText)?.[0] ?? "";
  const verdicts: readonly Answer[] = [
    answer(text('{"verdict": "allow"}')),
    answer(text('{"verdict": "allow", "reason": "It is asked for."}')),
    answer(text('{"verdict": "deny", "reason": "It does harm."}')),
    answer(text('{"verdict": "ask"}')),
    answer(text("I am not sure")),
    failing({ type: "status", status: 529, error_type: "overloaded_error" }),
  ];
  return verdicts[hashOf(label) % verdicts.length] ?? answer();
}

/** The step as the double is to send it; a step that holds is answered by whoever ends it. */
export function answerOf(step: ModelStep): Answer {
  switch (step.kind) {
    case "answer":
      return step.answer;
    case "calls": {
      const { words, calls } = step;
      return answer(
        ...(words === undefined ? [] : [thinking(words), text(words)]),
        ...calls.map(({ tool, deed, label }) => toolCall(tool, { deed, label })),
      );
    }
    case "hold":
      return failing({ type: "silent" });
    case "busy":
      return rateLimited(HOURS_SECONDS);
  }
}

function textOf(event: Extract<LogEvent, { type: "user.message" }>): string {
  const [first] = event.public.content;
  return first?.type === "text" ? first.text : "";
}
