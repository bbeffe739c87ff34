import { EventSendParams } from "../client-events.ts";
import { EventListQuery, EventStreamQuery } from "../event-queries.ts";
import { ClientEvent, SessionEvent, StreamEvent } from "../events/event-unions.ts";
import { type Operation, object, page } from "../operation.ts";
import { PageQuery } from "../pagination.ts";
import {
  FileResource,
  FileResourceParams,
  SessionResource,
  SessionResourceDeleted,
  SessionResourceUpdateParams,
} from "../session-resources.ts";
import { SessionThread, ThreadListQuery } from "../session-threads.ts";
import {
  Session,
  SessionCreateParams,
  SessionDeleted,
  SessionListQuery,
  SessionUpdateParams,
} from "../sessions.ts";

const SESSION = "/v1/sessions/{session_id}";
const THREAD = `${SESSION}/threads/{thread_id}`;

const resourceOperations: readonly Operation[] = [
  {
    id: "sessions.resources.list",
    method: "GET",
    path: `${SESSION}/resources`,
    query: PageQuery,
    answer: page(SessionResource),
  },
  {
    id: "sessions.resources.retrieve",
    method: "GET",
    path: `${SESSION}/resources/{resource_id}`,
    answer: object(SessionResource),
  },
  {
    id: "sessions.resources.add",
    method: "POST",
    path: `${SESSION}/resources`,
    body: FileResourceParams,
    answer: object(FileResource),
  },
  {
    id: "sessions.resources.update",
    method: "POST",
    path: `${SESSION}/resources/{resource_id}`,
    body: SessionResourceUpdateParams,
    answer: object(SessionResource),
  },
  {
    id: "sessions.resources.delete",
    method: "DELETE",
    path: `${SESSION}/resources/{resource_id}`,
    answer: object(SessionResourceDeleted),
  },
];

const eventOperations: readonly Operation[] = [
  {
    id: "sessions.events.list",
    method: "GET",
    path: `${SESSION}/events`,
    query: EventListQuery,
    answer: page(SessionEvent),
  },
  {
    id: "sessions.events.send",
    method: "POST",
    path: `${SESSION}/events`,
    body: EventSendParams,
    answer: { kind: "batch", of: ClientEvent },
  },
  {
    id: "sessions.events.stream",
    method: "GET",
    path: `${SESSION}/events/stream`,
    query: EventStreamQuery,
    answer: { kind: "stream", of: StreamEvent },
  },
];

const threadOperations: readonly Operation[] = [
  {
    id: "sessions.threads.list",
    method: "GET",
    path: `${SESSION}/threads`,
    query: ThreadListQuery,
    answer: page(SessionThread),
  },
  { id: "sessions.threads.retrieve", method: "GET", path: THREAD, answer: object(SessionThread) },
  {
    id: "sessions.threads.archive",
    method: "POST",
    path: `${THREAD}/archive`,
    answer: object(SessionThread),
  },
  {
    id: "sessions.threads.events.list",
    method: "GET",
    path: `${THREAD}/events`,
    query: PageQuery,
    answer: page(SessionEvent),
  },
  {
    id: "sessions.threads.events.stream",
    method: "GET",
    path: `${THREAD}/stream`,
    query: EventStreamQuery,
    answer: { kind: "stream", of: StreamEvent },
  },
];

export const sessionOperations: readonly Operation[] = [
  {
    id: "sessions.create",
    method: "POST",
    path: "/v1/sessions",
    body: SessionCreateParams,
    answer: object(Session),
  },
  {
    id: "sessions.list",
    method: "GET",
    path: "/v1/sessions",
    query: SessionListQuery,
    answer: { kind: "list", paged: "bidirectional", of: Session },
  },
  { id: "sessions.retrieve", method: "GET", path: SESSION, answer: object(Session) },
  {
    id: "sessions.update",
    method: "POST",
    path: SESSION,
    body: SessionUpdateParams,
    answer: object(Session),
  },
  { id: "sessions.delete", method: "DELETE", path: SESSION, answer: object(SessionDeleted) },
  { id: "sessions.archive", method: "POST", path: `${SESSION}/archive`, answer: object(Session) },
  ...eventOperations,
  ...resourceOperations,
  ...threadOperations,
];
