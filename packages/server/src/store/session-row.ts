import type { SessionRecord, SessionStatus, SessionSummary } from "../core/ports/sessions.ts";
import { fromJson } from "./json-column.ts";

/** A session's columns in both of its tables; those of the definition are null once it is deleted. */
export interface SessionRow {
  readonly session_key: number;
  readonly workspace_id: string;
  readonly id: string;
  readonly thread_id: string;
  readonly hand_id: string;
  readonly environment_id: string;
  readonly agent_id: string;
  readonly agent_version: number;
  readonly status: SessionStatus;
  readonly totals: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly archived_at: string | null;
  readonly deleted_at: string | null;
  readonly last_seq: number;
  readonly input_seq: number | null;
  readonly input_at: string | null;
  readonly title: string | null;
  readonly metadata: string | null;
  readonly agent: string | null;
  readonly resources: string | null;
  readonly vault_ids: string | null;
  readonly budget: string | null;
  readonly recipe: string | null;
  readonly created_by: string | null;
}

export type SessionSummaryRow = Omit<SessionRow, "session_key" | "recipe" | "created_by">;

export function decodeSession(stored: SessionRow): SessionRecord {
  const { session_key: _key, recipe, created_by, ...row } = stored;
  return {
    ...decodeSummary(row),
    recipe: recipe === null ? emptyRecipe() : fromJson(recipe),
    ...(created_by !== null && { created_by }),
  };
}

export function decodeSummary(row: SessionSummaryRow): SessionSummary {
  const { agent_id, agent_version, ...plain } = row;
  return {
    ...plain,
    totals: fromJson(row.totals),
    metadata: fromJson(row.metadata ?? "{}"),
    agent: row.agent === null ? forgottenAgent(agent_id, agent_version) : fromJson(row.agent),
    resources: fromJson(row.resources ?? "[]"),
    vault_ids: fromJson(row.vault_ids ?? "[]"),
    budget: row.budget === null ? null : fromJson(row.budget),
  };
}

/** What a tombstone shows of its agent: which it was, and nothing that was said in it. */
export function forgottenAgent(id: string, version: number): SessionRecord["agent"] {
  return { id, name: "", version, system: null, model: { id: "" }, tools: [] };
}

export function emptyRecipe(): SessionRecord["recipe"] {
  return {
    provider: "bubblewrap",
    base: { type: "host" },
    mounts: [],
    network: { type: "none" },
  };
}
