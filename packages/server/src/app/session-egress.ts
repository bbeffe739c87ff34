import type { Page, PageQuery, SessionEgress } from "@drover/api";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { Store } from "../core/ports/store.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { type Cursors, readForwardPage } from "./pagination.ts";
import { getSessionRecord } from "./sessions-wire.ts";

/** Each item has up to some hundred decisions. */
const LIMIT_MAX = 100;

export interface EgressListRequest {
  readonly key: SessionKey;
  readonly query: PageQuery;
}

/** Whom the session's sandboxes spoke to or wanted to, the oldest first. */
export async function listEgress(
  { store, cursors }: { readonly store: Store; readonly cursors: Cursors },
  { key, query }: EgressListRequest,
): Promise<Page<SessionEgress>> {
  await getSessionRecord(store.sessions, key);
  return await readForwardPage({
    cursors,
    scope: { workspaceId: key.workspaceId, list: `${key.sessionId}/egress`, order: "asc" },
    query,
    limitMax: LIMIT_MAX,
    read: async (limit, after) =>
      await store.events.getEvents(key, {
        types: ["drover.egress"],
        ...(after !== undefined && { after: Number(after[0]) }),
        limit,
      }),
    positionOf: ({ seq }) => [String(seq)],
    present: toEgress,
  });
}

function toEgress(event: LogEvent): SessionEgress {
  if (event.type !== "drover.egress") throw new Error(`${event.id} is no egress`);
  const { call_id, records } = event.private;
  return {
    id: event.id,
    type: "session_egress",
    tool_use_id: call_id,
    processed_at: event.processed_at,
    decisions: records.map((record) => ({ ...record })),
  };
}
