import type { FailedRequest } from "../core/harness/failure.ts";
import { withSystemTurns } from "../core/harness/message-order.ts";
import { type SystemTurns, systemTurnsOf } from "../core/models/system-turns.ts";
import type { ModelRequest } from "../core/ports/model.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { SessionState } from "../core/session/state.ts";
import type { DriveDeps } from "./deps.ts";
import { withMedia } from "./media.ts";
import type { EffectContext } from "./settlement.ts";

/**
 * The request as it is sent: with system messages in the way that its model takes them, and with the
 * content of files. Every request that is made from a session's log goes through here.
 */
export async function preparedRequest(
  request: ModelRequest,
  session: SessionRecord,
  deps: Pick<DriveDeps, "blobs" | "clock" | "findModel" | "log"> & {
    readonly store: Pick<DriveDeps["store"], "files">;
  },
): Promise<ModelRequest> {
  const messages = withSystemTurns(request.messages, turnsOf(session, deps));
  return await withMedia({ ...request, messages }, session.workspace_id, deps);
}

/** How system messages stand in the requests of a session. */
function turnsOf(session: SessionRecord, { findModel }: Pick<DriveDeps, "findModel">): SystemTurns {
  return systemTurnsOf(session.agent.model.id, findModel);
}

/** A request that was made from the session's context as it is, with what its failure is judged by. */
export function failedRequest(
  requestId: string,
  state: SessionState,
  { view, deps }: EffectContext,
): FailedRequest {
  const systemTurns = turnsOf(view.session, deps);
  return { requestId, state, context: view.context, systemTurns, random: deps.random() };
}
