import type { Mount } from "../core/ports/hands.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";

/** A session's row as it is right after creation. */
export function testSession(
  given: { system?: string | null; model?: string; mounts?: readonly Mount[] } = {},
): SessionRecord {
  const { system = null, model = "claude-opus-5-5", mounts = [] } = given;
  return {
    workspace_id: "wrkspc_1",
    id: "sesn_1",
    thread_id: "sthr_1",
    hand_id: "hand_1",
    status: "idle",
    title: null,
    metadata: {},
    environment_id: "env_1",
    agent: {
      id: "agent_1",
      name: "tester",
      version: 1,
      system,
      model: { id: model, effort: { type: "high" } },
      tools: [],
    },
    resources: [],
    vault_ids: [],
    budget: null,
    recipe: { provider: "bubblewrap", base: { type: "host" }, mounts, network: { type: "none" } },
    totals: { usage: {}, stats: {} },
    created_at: "2026-01-01T00:00:00.000Z",
    updated_at: "2026-01-01T00:00:00.000Z",
    archived_at: null,
    deleted_at: null,
    last_seq: 0,
    input_seq: null,
    input_at: null,
  };
}
