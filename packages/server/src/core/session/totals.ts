import type { SessionTotals } from "../ports/sessions.ts";
import { activeMs, shownUsage } from "./account.ts";
import type { SessionState } from "./state.ts";

/** What the session's row shows of a state; `now` (RFC 3339) for time that runs. */
export function totalsOf(state: SessionState, now: string): SessionTotals {
  const threads = Object.entries(state.threads).map(([id, { account }]) => {
    const stats = { active_seconds: activeMs(account, now) / 1000 };
    return [id, { usage: shownUsage(account, now), stats }] as const;
  });
  const ms = Object.values(state.threads).reduce(
    (sum, { account }) => sum + activeMs(account, now),
    0,
  );
  const { usage: _usage, isPriced: _isPriced, ...spending } = state.account;
  return {
    usage: shownUsage(state.account, now),
    stats: { active_seconds: ms / 1000 },
    threads: Object.fromEntries(threads),
    spending,
    isHeld: Object.values(state.threads).some(({ hold }) => hold === "held"),
  };
}
