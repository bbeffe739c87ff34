import { NotFoundError } from "../core/errors.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type {
  SessionReader,
  SessionRecord,
  SessionSummary,
  ThreadTotals,
} from "../core/ports/sessions.ts";

/** A resource in the wire's shape. */
export type Wire = Readonly<Record<string, unknown>>;

/** The session as clients see it; `now` is RFC 3339, for how long it has been there. */
export function toSession(session: SessionSummary, now: string): Wire {
  return {
    id: session.id,
    type: "session",
    status: session.status,
    title: session.title,
    environment_id: session.environment_id,
    agent: session.agent,
    metadata: session.metadata,
    resources: session.resources,
    vault_ids: session.vault_ids,
    deployment_id: null,
    budget: session.budget,
    outcome_evaluations: [],
    stats: statsOf(session, session.totals, now),
    usage: session.totals.usage,
    created_at: session.created_at,
    updated_at: session.updated_at,
    archived_at: session.archived_at,
  };
}

/** Duration goes on until the session is terminated; then it stays at its last change. */
export function statsOf(
  session: Pick<SessionSummary, "status" | "created_at" | "updated_at">,
  { stats }: ThreadTotals,
  now: string,
): Wire {
  const until = session.status === "terminated" ? session.updated_at : now;
  const ms = Math.max(0, Date.parse(until) - Date.parse(session.created_at));
  return { ...stats, duration_seconds: ms / 1000 };
}

/** Rejects with `NotFoundError` for a session that is not in this workspace or was deleted. */
export async function getSessionRecord(
  sessions: Pick<SessionReader, "find">,
  key: SessionKey,
): Promise<SessionRecord> {
  return existing(await sessions.find(key), key);
}

export function existing(session: SessionRecord | undefined, key: SessionKey): SessionRecord {
  if (session === undefined || session.deleted_at !== null) {
    throw new NotFoundError(`there is no session ${key.sessionId}`);
  }
  return session;
}
