import type { ModelUsage } from "../ports/model.ts";
import { boundedResult } from "./bounded-result.ts";
import { type ContextState, NEW_CONTEXT } from "./context-state.ts";
import type { EventDraft } from "./log-event.ts";
import type { ThreadState } from "./state.ts";
import { blocksTokens } from "./token-estimate.ts";

/**
 * Folds how large the context is. `before` is the thread as it was before the event: a request's end
 * no longer tells what the request was for.
 */
export function foldContext(before: ThreadState, draft: EventDraft): ContextState {
  const { context } = before;
  switch (draft.type) {
    case "span.model_request_end":
      return requestEnded(before, draft);
    case "drover.context_counted":
      return counted(context, draft.private.tokens);
    case "agent.thread_context_compacted":
      return {
        ...NEW_CONTEXT,
        from: draft.private.kept_from,
        added: draft.private.tokens_after,
        window: context.window,
        compactions: context.compactions + 1,
      };
    case "drover.forked":
      // It may be another model that is asked from here on.
      return { ...context, window: null };
    case "session.error":
      return draft.public.error.type === "compaction_limit_reached_error"
        ? { ...context, mustCut: true }
        : context;
    case "session.thread_status_idle":
    case "session.thread_status_terminated":
      return { ...context, compactions: 0, failedSummaries: 0 };
    default: {
      const tokens = eventTokens(draft);
      return tokens === 0 ? context : grown(context, tokens);
    }
  }
}

/** Estimate of what an event adds to the context; 0 for one that is not sent. */
export function eventTokens(draft: EventDraft): number {
  switch (draft.type) {
    case "user.message":
    case "system.message":
      return blocksTokens(draft.public.content);
    case "agent.tool_result":
    case "agent.mcp_tool_result":
      return blocksTokens(draft.public.content ?? []);
    case "user.tool_result":
    case "user.custom_tool_result":
      return blocksTokens(boundedResult(draft.public.content ?? []));
    case "agent.message":
    case "agent.thinking":
    case "agent.tool_use":
    case "agent.mcp_tool_use":
    case "agent.custom_tool_use":
      return blocksTokens(draft.private.blocks.map(({ block }) => block));
    default:
      return 0;
  }
}

function grown(context: ContextState, tokens: number): ContextState {
  return { ...context, added: context.added + tokens, counted: "no" };
}

function counted(context: ContextState, tokens: number | null): ContextState {
  if (tokens === null) return { ...context, counted: "failed" };
  return { ...context, known: tokens, added: 0, counted: "yes" };
}

function requestEnded(
  { context, request }: ThreadState,
  { public: shown, private: end }: Extract<EventDraft, { type: "span.model_request_end" }>,
): ContextState {
  if (request?.id !== shown.model_request_start_id) return context;
  const learned =
    end.window_tokens === undefined ? context : { ...context, window: end.window_tokens };
  if (request.purpose === "compaction") {
    return end.reason === undefined
      ? learned
      : { ...learned, failedSummaries: context.failedSummaries + 1 };
  }
  if (end.reason === "prompt_too_long") {
    // A smaller window than was known explains it: then the next request is made to fit that.
    const told = end.window_tokens ?? Infinity;
    return { ...learned, overflow: told >= (context.window ?? Infinity) };
  }
  if (end.outcome !== "response") return context;
  const known = reportedTokens(end.usage);
  return {
    ...context,
    ...(known > 0 && { known, added: 0 }),
    counted: "no",
    overflow: false,
    compactions: 0,
    failedSummaries: 0,
    mustCut: false,
  };
}

/** The context as of the end of a response: what was sent, and what came back. */
function reportedTokens(usage: ModelUsage = {}): number {
  const prompt =
    (usage.input_tokens ?? 0) +
    (usage.cache_read_input_tokens ?? 0) +
    (usage.cache_creation_input_tokens ?? 0);
  return prompt === 0 ? 0 : prompt + (usage.output_tokens ?? 0);
}
