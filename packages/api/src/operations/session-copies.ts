import { type Operation, object } from "../operation.ts";
import { SessionForkParams } from "../session-forks.ts";
import { Session } from "../sessions.ts";

export const sessionCopyOperations: readonly Operation[] = [
  {
    id: "drover.sessions.fork",
    method: "POST",
    path: "/v1/drover/sessions/{session_id}/fork",
    body: SessionForkParams,
    answer: object(Session),
  },
];
