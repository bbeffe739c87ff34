import { modelRequest } from "../core/harness/model-request.ts";
import { roomOf } from "../core/harness/room.ts";
import type { McpListing } from "../core/ports/mcp-servers.ts";
import type { ModelOutcome } from "../core/ports/model.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import { NEW_CONTEXT } from "../core/session/context-state.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { withLookBack } from "../core/tools/session-events.ts";
import type { DriveDeps } from "./deps.ts";
import { preparedRequest } from "./prepared-request.ts";
import { threadLimits } from "./thread-limits.ts";

type AskDeps = Pick<
  DriveDeps,
  "store" | "blobs" | "clock" | "log" | "findModel" | "model" | "toolsOf" | "policies"
>;

export interface AskedAgain {
  readonly session: SessionRecord;
  readonly context: readonly LogEvent[];
  /** What the session's MCP servers had then; undefined before they were asked. */
  readonly listing: McpListing | undefined;
}

const NOBODY = { blockStarted: () => undefined, textDelta: () => undefined };

/**
 * Asks a session's model for the response that would follow these events, as a driver does; nothing comes
 * of it in the session.
 */
export async function askModel(
  deps: AskDeps,
  { session, context, listing }: AskedAgain,
  signal: AbortSignal,
): Promise<ModelOutcome> {
  const { lookBack } = deps.policies;
  const isCompacted = context.some(({ type }) => type === "agent.thread_context_compacted");
  const offered = withLookBack(deps.toolsOf(session, listing), lookBack, isCompacted);
  const tools = offered.map(({ definition }) => definition);
  const request = modelRequest(session, context, tools, {
    ...deps.policies,
    maxTokens: outputTokens(session, context, deps),
  });
  return await deps.model.respond(await preparedRequest(request, session, deps), NOBODY, signal);
}

/** A response has to fit the window too, which is known from here or was learned from a refusal. */
function outputTokens(session: SessionRecord, context: readonly LogEvent[], deps: AskDeps): number {
  const { policies } = deps;
  const limits = threadLimits(session, deps);
  if (limits === undefined) return policies.maxTokens;
  const { windowTokens = learnedWindow(context) } = limits;
  return roomOf(policies, { ...limits, windowTokens }, NEW_CONTEXT).output;
}

function learnedWindow(context: readonly LogEvent[]): number | undefined {
  return context
    .flatMap((event) =>
      event.type === "span.model_request_end" ? (event.private.window_tokens ?? []) : [],
    )
    .at(-1);
}
