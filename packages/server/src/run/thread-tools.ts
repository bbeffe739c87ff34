import type { ModelTool } from "../core/ports/model.ts";
import { threadState } from "../core/session/state.ts";
import type { OfferedTool } from "../core/tools/offered-tools.ts";
import { withLookBack } from "../core/tools/session-events.ts";
import type { DriveDeps } from "./deps.ts";
import type { SessionView } from "./session-view.ts";

/** The tools that the session's model is offered at this point of its log. */
export function threadTools(
  { session, state, listing }: SessionView,
  deps: DriveDeps,
  isCompacted = threadState(state, session.thread_id).context.from > 0,
): readonly OfferedTool[] {
  return withLookBack(deps.toolsOf(session, listing), deps.policies.lookBack, isCompacted);
}

/** The same as the model is told of them. */
export function threadDefinitions(view: SessionView, deps: DriveDeps): readonly ModelTool[] {
  return threadTools(view, deps).map(({ definition }) => definition);
}
