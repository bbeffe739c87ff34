import type { ModelBlock, ModelOutcome } from "../ports/model.ts";
import type { ContextState } from "../session/context-state.ts";
import type { Compaction, EventDraft, LogEvent } from "../session/log-event.ts";
import { type Cut, compactionCut } from "./compaction-cut.ts";
import { contextMessages } from "./context.ts";
import { type Drafting, draft, sessionError } from "./drafting.ts";
import type { Policies } from "./policies.ts";
import { requestEnded } from "./request-end.ts";
import { type ModelLimits, promptTokens, roomOf } from "./room.ts";
import { messagesTokens } from "./summary-request.ts";
import { isBlank } from "./verdict.ts";

/** Of a prompt that was refused, so much may be in the next. */
const REFUSED_SHARE = 0.8;
/** Characters of an earlier summary that are kept where nobody can be asked for a new one. */
const OLD_SUMMARY_CHARS_MAX = 8_000;

/** What is to be compacted, and by which bounds. */
export interface CompactionCase {
  /** Those the context is built from. */
  readonly events: readonly LogEvent[];
  readonly context: ContextState;
  readonly limits: ModelLimits;
  readonly policies: Policies;
  /** True if the model can look up what is left out. */
  readonly canLookBack: boolean;
}

export function cutOf(given: CompactionCase): Cut {
  const { events, context } = given;
  const promptMax = promptMaxOf(given);
  return compactionCut(events, { promptMax, compactions: context.compactions });
}

/** The most that the next prompt may have: less than what was refused, whatever the window is said to be. */
export function promptMaxOf({ context, limits, policies }: CompactionCase): number {
  const { prompt } = roomOf(policies, limits, context);
  if (!context.overflow) return prompt;
  return Math.min(prompt, promptTokens(context, limits, 0) * REFUSED_SHARE);
}

/** True if nothing but an earlier summary stands before the cut. */
export function isEmptyCut({ dropped }: Cut): boolean {
  return dropped.every(({ type }) => type === "agent.thread_context_compacted");
}

export function compactionLimitReached(drafting: Drafting): EventDraft {
  return sessionError(drafting, {
    type: "compaction_limit_reached_error",
    message:
      "The conversation does not fit the model any more, and summarising it frees too little. The next message starts a new turn, without the older part.",
    retry_status: { type: "exhausted" },
  });
}

/**
 * What is appended for a summary that came back: the compaction, or, if it would free next to nothing
 * and not enough, the error that ends the turn.
 */
export function summaryDrafts(
  response: Extract<ModelOutcome, { type: "response" }>,
  requestId: string,
  given: CompactionCase,
  drafting: Drafting,
): readonly EventDraft[] {
  const { usage, stop_reason, request_id } = response;
  const told = {
    usage,
    stop_reason,
    ...(request_id !== undefined && { api_request_id: request_id }),
  };
  const text = summaryText(response);
  if (text === undefined) {
    const message = "The model wrote no summary.";
    const failed = { outcome: "failed", reason: "no_summary", message, ...told } as const;
    return [requestEnded(drafting, requestId, failed)];
  }
  const end = requestEnded(drafting, requestId, { outcome: "response", ...told });
  const cut = cutOf(given);
  const compaction = measured("summary", cut, introduced(text, cut, given), given);
  const compacted = draft(drafting, "agent.thread_context_compacted", {
    public: {},
    private: compaction,
  });
  return [end, isUseless(compaction, given) ? compactionLimitReached(drafting) : compacted];
}

/** Nothing is before the newest input that could be summarised: the request is not even sent. */
export function nothingToSummarise(requestId: string, drafting: Drafting): readonly EventDraft[] {
  const message = "There is nothing before the newest message that could be summarised.";
  return [
    requestEnded(drafting, requestId, { outcome: "failed", reason: "no_summary", message }),
    compactionLimitReached(drafting),
  ];
}

/** The older part is left out with a note, because nobody can be asked for a summary. */
export function cutDrafts(given: CompactionCase, drafting: Drafting): readonly EventDraft[] {
  const cut = cutOf(given);
  const old = cut.dropped.findLast((event) => event.type === "agent.thread_context_compacted");
  const oldText = (old?.private.summary ?? [])
    .map((block) => String(block["text"] ?? ""))
    .join("\n")
    .slice(0, OLD_SUMMARY_CHARS_MAX)
    .toWellFormed();
  const note = `${cut.dropped.length} earlier events are left out here; they could not be summarised.`;
  const text = oldText === "" ? note : `${oldText}\n\n${note}`;
  const compaction = measured("cut", cut, introduced(text, cut, given), given);
  return [draft(drafting, "agent.thread_context_compacted", { public: {}, private: compaction })];
}

function summaryText({
  blocks,
  stop_reason,
}: Extract<ModelOutcome, { type: "response" }>): string | undefined {
  if (stop_reason === "refusal") return undefined;
  const texts = blocks.filter((block) => block.type === "text" && !isBlank(block));
  const text = texts.map((block) => String(block["text"])).join("\n");
  return text === "" ? undefined : text.trim().toWellFormed();
}

/** The summary as the model will read it. */
function introduced(text: string, cut: Cut, { canLookBack }: CompactionCase): string {
  const lost = lostMedia(cut.dropped);
  return [
    "This is a summary of the conversation so far, which has become too long to be shown in full:",
    text,
    ...(lost === "" ? [] : [`Not shown any more: ${lost}.`]),
    ...(canLookBack ? ["What is missing here can be looked up with the tool session_events."] : []),
    ...(cut.input.length > 0 ? ["What you are working on was asked for in these words:"] : []),
  ].join("\n\n");
}

function measured(
  how: Compaction["how"],
  cut: Cut,
  text: string,
  { events }: CompactionCase,
): Compaction {
  const summary: readonly ModelBlock[] = [{ type: "text", text: text.replaceAll("\0", "\uFFFD") }];
  const kept = events.filter(({ seq, type }) => {
    return seq >= cut.keptFrom && type !== "agent.thread_context_compacted";
  });
  const replacement = [
    { role: "user" as const, content: [...summary, ...cut.input, ...cut.system] },
  ];
  return {
    how,
    summary,
    input: cut.input,
    ...(cut.system.length > 0 && { system: cut.system }),
    kept_from: cut.keptFrom,
    tokens_before: messagesTokens(contextMessages(events)),
    tokens_after: messagesTokens(replacement) + messagesTokens(contextMessages(kept)),
  };
}

function isUseless({ tokens_before, tokens_after }: Compaction, given: CompactionCase): boolean {
  const { limits, policies } = given;
  const { fixedTokens } = limits;
  if (tokens_after + fixedTokens <= promptMaxOf(given)) return false;
  const freed = tokens_before - tokens_after;
  return freed < policies.freedShareMin * (tokens_before + fixedTokens);
}

function lostMedia(dropped: readonly LogEvent[]): string {
  const types = dropped.flatMap((event) => mediaTypes(event));
  return ["image", "document"]
    .map((type) => ({ type, count: types.filter((each) => each === type).length }))
    .filter(({ count }) => count > 0)
    .map(({ type, count }) => `${count} ${type}${count === 1 ? "" : "s"}`)
    .join(", ");
}

function mediaTypes({ public: shown }: LogEvent): readonly string[] {
  const content: unknown = "content" in shown ? shown.content : undefined;
  return Array.isArray(content) ? content.map((block: { type: string }) => block.type) : [];
}
