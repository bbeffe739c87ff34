import {
  EVENT_VERSION,
  type InboxEvent,
  type LogEvent,
  type LogEventOf,
} from "../core/session/log-event.ts";
import { type StoredEvent, upcast } from "../core/session/upcast.ts";
import { fromJson, toJson } from "./json-column.ts";
import { type LargeString, type Path, putBack, takeOut } from "./large-strings.ts";

/** Bodies over so many characters have their large strings kept apart (see the decision record). */
const LARGE_BODY = 64 * 1024;

/** The columns that an event has in the log as well as in the inbox. */
export interface EventColumns {
  readonly id: string;
  readonly thread_id: string;
  readonly cross_posted: number;
  readonly type: string;
  readonly v: number;
  /** Bytes of both bodies and their large strings. */
  readonly size: number;
  /** JSON of `LargeReference[]`; null for almost every event. */
  readonly large: string | null;
  readonly public: string;
  /** Null for the empty object. */
  readonly private: string | null;
}

interface LargeReference {
  readonly path: Path;
  readonly sha256: string;
}

/** What a draft of either kind has. */
export type Draft = Pick<
  StoredEvent,
  "id" | "type" | "thread_id" | "cross_posted" | "public" | "private"
>;

export interface EncodedEvent {
  readonly columns: EventColumns;
  readonly contents: readonly LargeString[];
}

/** What only the log knows of an event. */
export interface LogColumns {
  readonly seq: number;
  readonly processed_at: string;
  readonly epoch: number;
}

/** What only the inbox knows of an event. */
export interface InboxColumns {
  readonly arrival: number;
  readonly accepted_at: string;
}

export function encodeEvent(draft: Draft): EncodedEvent {
  const common = {
    id: draft.id,
    thread_id: draft.thread_id,
    cross_posted: draft.cross_posted ? 1 : 0,
    type: draft.type,
    v: EVENT_VERSION,
  };
  const publicText = toJson(draft.public);
  const privateText = toJson(draft.private);
  const size = Buffer.byteLength(publicText) + Buffer.byteLength(privateText);
  if (publicText.length + privateText.length <= LARGE_BODY) {
    return {
      columns: { ...common, size, large: null, ...texts(publicText, privateText) },
      contents: [],
    };
  }
  const { rest, taken } = takeOut({ public: draft.public, private: draft.private }, LARGE_BODY);
  const large = taken.map(({ path, sha256 }): LargeReference => ({ path, sha256 }));
  return {
    columns: {
      ...common,
      size,
      large: large.length === 0 ? null : toJson(large),
      ...texts(toJson(rest.public), toJson(rest.private)),
    },
    contents: taken,
  };
}

function texts(
  publicText: string,
  privateText: string,
): { public: string; private: string | null } {
  return { public: publicText, private: privateText === "{}" ? null : privateText };
}

/** The hashes of the large strings that must be read to decode the rows. */
export function hashesOf(rows: readonly EventColumns[]): readonly string[] {
  return rows.flatMap(({ large }) =>
    large === null ? [] : fromJson<readonly LargeReference[]>(large).map(({ sha256 }) => sha256),
  );
}

/** `contents` holds the large strings by hash, each as JSON text. Throws if one of them is missing. */
export function decodeLogEvent(
  row: EventColumns & LogColumns,
  contents: ReadonlyMap<string, string>,
): ReturnType<typeof upcast> {
  return upcast(decode(row, contents));
}

/** As `decodeLogEvent`. */
export function decodeInboxEvent(
  row: EventColumns & InboxColumns,
  contents: ReadonlyMap<string, string>,
): InboxEvent {
  const { arrival, accepted_at } = row;
  const stored = decode({ ...row, seq: 0, processed_at: accepted_at, epoch: 0 }, contents);
  return asInboxEvent(stored, { arrival, accepted_at });
}

/** The draft as the log holds it, without anything that is no part of an event. */
export function asLogEvent(draft: Draft, log: LogColumns): LogEvent {
  const { id, type, thread_id, cross_posted } = draft;
  const event = { id, type, thread_id, cross_posted, v: EVENT_VERSION, ...log };
  return upcast({ ...event, public: draft.public, private: draft.private });
}

/** The draft as the inbox holds it. Throws a plain `Error` for an event that is no input. */
export function asInboxEvent(draft: Draft, inbox: InboxColumns): InboxEvent {
  const event = asLogEvent(draft, { seq: 0, processed_at: inbox.accepted_at, epoch: 0 });
  if (!isInput(event)) throw new Error(`event ${draft.id} (${draft.type}) is no input`);
  const { seq: _seq, v: _v, processed_at: _processedAt, epoch: _epoch, ...input } = event;
  return { ...input, ...inbox };
}

type Input = LogEventOf<"user.message" | "user.interrupt" | "system.message">;

function isInput(event: LogEvent): event is Input {
  return isInputType(event.type);
}

/** True for the events that wait in the inbox. */
export function isInputType(type: string): boolean {
  return type === "user.message" || type === "user.interrupt" || type === "system.message";
}

function decode(
  row: EventColumns & LogColumns,
  contents: ReadonlyMap<string, string>,
): StoredEvent {
  const bodies = {
    public: fromJson<unknown>(row.public),
    private: fromJson<unknown>(row.private ?? "{}"),
  };
  if (row.large !== null) {
    for (const { path, sha256 } of fromJson<readonly LargeReference[]>(row.large)) {
      const content = contents.get(sha256);
      if (content === undefined) throw new Error(`content ${sha256} of event ${row.id} is missing`);
      putBack(bodies, path, fromJson<string>(content));
    }
  }
  return {
    id: row.id,
    type: row.type,
    thread_id: row.thread_id,
    cross_posted: row.cross_posted === 1,
    seq: row.seq,
    v: row.v,
    processed_at: row.processed_at,
    epoch: row.epoch,
    ...bodies,
  };
}
