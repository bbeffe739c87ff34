import { modelRequest } from "../core/harness/model-request.ts";
import type { ModelOutcome } from "../core/ports/model.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import type { DriveDeps } from "./deps.ts";

const NOBODY = { blockStarted: () => undefined, textDelta: () => undefined };

/**
 * Asks a session's model for the response that would follow these events, as a driver does; nothing comes
 * of it in the session.
 */
export async function askModel(
  { model, toolsOf, policies }: Pick<DriveDeps, "model" | "toolsOf" | "policies">,
  { session, context }: { session: SessionRecord; context: readonly LogEvent[] },
  signal: AbortSignal,
): Promise<ModelOutcome> {
  const tools = toolsOf(session).map(({ definition }) => definition);
  return await model.respond(modelRequest(session, context, tools, policies), NOBODY, signal);
}
