import { type Operation, object, page } from "../operation.ts";
import { PageQuery } from "../pagination.ts";
import { SessionEgress } from "../session-egress.ts";
import { SessionForkParams, SessionImportQuery, SessionReplayParams } from "../session-forks.ts";
import { SessionHand, SessionHandPassParams } from "../session-hands.ts";
import { SessionSandbox } from "../session-sandbox.ts";
import { Session } from "../sessions.ts";

export const sessionCopyOperations: readonly Operation[] = [
  {
    id: "drover.sessions.fork",
    method: "POST",
    path: "/v1/drover/sessions/{session_id}/fork",
    body: SessionForkParams,
    answer: object(Session),
  },
  {
    id: "drover.sessions.replay",
    method: "POST",
    path: "/v1/drover/sessions/{session_id}/replay",
    body: SessionReplayParams,
    answer: { kind: "bytes" },
  },
  {
    id: "drover.sessions.export",
    method: "GET",
    path: "/v1/drover/sessions/{session_id}/export",
    answer: { kind: "bytes" },
  },
  {
    id: "drover.sessions.egress.list",
    method: "GET",
    path: "/v1/drover/sessions/{session_id}/egress",
    query: PageQuery,
    answer: page(SessionEgress),
  },
  {
    id: "drover.sessions.sandbox.retrieve",
    method: "GET",
    path: "/v1/drover/sessions/{session_id}/sandbox",
    answer: object(SessionSandbox),
  },
  {
    id: "drover.sessions.hand.retrieve",
    method: "GET",
    path: "/v1/drover/sessions/{session_id}/hand",
    answer: object(SessionHand),
  },
  {
    id: "drover.sessions.hand.pass",
    method: "POST",
    path: "/v1/drover/sessions/{session_id}/hand/pass",
    body: SessionHandPassParams,
    answer: object(SessionHand),
  },
  {
    id: "drover.sessions.import",
    method: "POST",
    path: "/v1/drover/sessions/import",
    query: SessionImportQuery,
    body: { kind: "file", mediaType: "application/jsonl" },
    answer: object(Session),
  },
];
