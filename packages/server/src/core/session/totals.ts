import type { SessionTotals } from "../ports/sessions.ts";
import { activeMs } from "./fold.ts";
import type { SessionState } from "./state.ts";

/** What a session's row shows of its usage, up to `now` (RFC 3339). */
export function totalsOf(state: SessionState, now: string): SessionTotals {
  const active_seconds = activeMs(state, now) / 1000;
  return { usage: { ...state.usage, active_seconds }, stats: { active_seconds } };
}
