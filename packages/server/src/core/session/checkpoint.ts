import type { Checkpoint } from "../ports/event-log.ts";
import { FOLD_VERSION, NEW_SESSION, type SessionState } from "./state.ts";

/** The state to fold on from: the checkpoint's, or that of the empty log if it is of another version. */
export function stateOf(checkpoint: Checkpoint | undefined): SessionState {
  if (checkpoint?.fold !== FOLD_VERSION) return NEW_SESSION;
  // Written by this very version of fold, so its shape is known.
  return { ...(JSON.parse(checkpoint.state) as SessionState), seq: checkpoint.seq };
}
