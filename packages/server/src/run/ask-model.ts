import { modelRequest } from "../core/harness/model-request.ts";
import type { ModelOutcome } from "../core/ports/model.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { withLookBack } from "../core/tools/session-events.ts";
import type { DriveDeps } from "./deps.ts";
import { preparedRequest } from "./prepared-request.ts";

type AskDeps = Pick<
  DriveDeps,
  "store" | "blobs" | "clock" | "log" | "findModel" | "model" | "toolsOf" | "policies"
>;

const NOBODY = { blockStarted: () => undefined, textDelta: () => undefined };

/**
 * Asks a session's model for the response that would follow these events, as a driver does; nothing comes
 * of it in the session.
 */
export async function askModel(
  deps: AskDeps,
  { session, context }: { session: SessionRecord; context: readonly LogEvent[] },
  signal: AbortSignal,
): Promise<ModelOutcome> {
  const { lookBack } = deps.policies;
  const isCompacted = context.some(({ type }) => type === "agent.thread_context_compacted");
  const offered = withLookBack(deps.toolsOf(session), lookBack, isCompacted);
  const tools = offered.map(({ definition }) => definition);
  const request = modelRequest(session, context, tools, deps.policies);
  return await deps.model.respond(await preparedRequest(request, session, deps), NOBODY, signal);
}
