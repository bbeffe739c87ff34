import { createHash } from "node:crypto";
import type { Blobs } from "../core/ports/blobs.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { Mount } from "../core/ports/hands.ts";
import type { FileRecord } from "../core/ports/records.ts";
import type { PagePosition, SessionRecord } from "../core/ports/sessions.ts";
import type { Store } from "../core/ports/store.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { FILE_VERSION, LEFT_OUT, PIECE_BYTES } from "../core/sessions/session-file.ts";
import { INSTALLED_WORKSPACE } from "./installed-skills.ts";
import { getSessionRecord } from "./sessions-wire.ts";

const PAGE_EVENTS = 200;
const PAGE_FILES = 200;

interface ExportOptions {
  readonly store: Store;
  readonly blobs: Pick<Blobs, "get">;
}

export interface SessionExport {
  readonly filename: string;
  /** Rejects half-way if the session is deleted meanwhile: what came before has no end then. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/**
 * The session as one file (see `session-file.ts`), made while it is read: its log as far as it goes now, and
 * its files with their contents. The same session at rest always gives the same bytes.
 */
export async function exportSession(
  options: ExportOptions,
  key: SessionKey,
): Promise<SessionExport> {
  const session = await getSessionRecord(options.store.sessions, key);
  return { filename: `${session.id}.jsonl`, bytes: bytesOf(options, session, key) };
}

async function* bytesOf(
  options: ExportOptions,
  session: SessionRecord,
  key: SessionKey,
): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  const counts = { events: 0, files: 0 };
  for await (const line of linesOf(options, session, key)) {
    if ("event" in line) counts.events += 1;
    if ("file" in line) counts.files += 1;
    const bytes = bytesOfLine(line);
    hash.update(bytes);
    yield bytes;
  }
  yield bytesOfLine({ end: { ...counts, sha256: hash.digest("hex") } });
}

function bytesOfLine(line: object): Uint8Array {
  return Buffer.from(`${JSON.stringify(line)}\n`);
}

async function* linesOf(
  { store, blobs }: ExportOptions,
  session: SessionRecord,
  key: SessionKey,
): AsyncGenerator<object> {
  yield { drover: "session", version: FILE_VERSION, left_out: LEFT_OUT };
  yield { session: shownSession(session) };
  for await (const event of eventsOf(store, key, await lastSeq(store, session))) yield { event };
  const files = await filesOf(store, key);
  for (const [sha256, { size_bytes, workspaceId }] of contentsOf(session, files)) {
    yield { content: { sha256, size_bytes } };
    const content = await blobs.get(workspaceId, sha256);
    if (content === undefined) throw new Error(`the content ${sha256} is missing`);
    yield* piecesOf(content);
  }
  for (const file of files) yield { file: shownFile(file) };
}

/** What its files and mounts consist of, each content once, by hash, and where it is kept. */
function contentsOf({ workspace_id, recipe }: SessionRecord, files: readonly FileRecord[]) {
  const contents = new Map<string, { size_bytes: number; workspaceId: string }>();
  for (const mount of recipe.mounts) {
    if (mount.type === "memory_store") continue;
    const isInstalled = mount.type === "skill" && mount.source === "installed";
    const workspaceId = isInstalled ? INSTALLED_WORKSPACE : workspace_id;
    contents.set(mount.sha256, { size_bytes: mount.size_bytes, workspaceId });
  }
  for (const { sha256, size_bytes } of files) {
    if (sha256 !== "") contents.set(sha256, { size_bytes, workspaceId: workspace_id });
  }
  return [...contents].toSorted(([left], [right]) => (left < right ? -1 : 1));
}

/** All that a session of another server can be made of, in one order. */
function shownSession(session: SessionRecord): object {
  const { workspace_id, hand_id, recipe, deleted_at, last_seq, input_seq, input_at, ...shown } =
    session;
  const { id, thread_id, status, title, metadata, environment_id, ...rest } = shown;
  const { agent, resources, vault_ids, created_at, updated_at, archived_at } = rest;
  // The log tells the rest.
  const totals = { usage: rest.totals.usage, stats: rest.totals.stats };
  return {
    ...{ id, thread_id, status, title, metadata, environment_id, agent, resources, vault_ids },
    ...{ mounts: recipe.mounts.flatMap(shownMount), totals, created_at, updated_at, archived_at },
  };
}

/**
 * Where a skill's archive is kept is another matter elsewhere, and where a memory store is mounted follows
 * from the resource.
 */
function shownMount(mount: Mount): readonly object[] {
  if (mount.type === "memory_store") return [];
  if (mount.type === "file") {
    const { type, mount_path, sha256, size_bytes, filename } = mount;
    return [{ type, mount_path, sha256, size_bytes, ...(filename !== undefined && { filename }) }];
  }
  const { type, mount_path, sha256, size_bytes, description } = mount;
  return [{ type, mount_path, sha256, size_bytes, description }];
}

/** That a session was imported here is no part of what happened in it, until it goes on here. */
async function lastSeq(
  store: Store,
  { workspace_id, id, last_seq }: SessionRecord,
): Promise<number> {
  const key = { workspaceId: workspace_id, sessionId: id };
  const [last] = await store.events.getEvents(key, {
    after: last_seq - 1,
    before: last_seq + 1,
    limit: 1,
  });
  const isOwnMark = last?.type === "drover.forked" && last.private.session_id === id;
  return isOwnMark ? last_seq - 1 : last_seq;
}

async function* eventsOf(
  store: Store,
  key: SessionKey,
  upTo: number,
): AsyncGenerator<Omit<LogEvent, "seq">> {
  for (let after = 0; after < upTo; ) {
    const range = { after, before: upTo + 1, limit: PAGE_EVENTS };
    const page = await store.events.getEvents(key, range);
    for (const event of page) yield shownEvent(event);
    const last = page.at(-1);
    if (last === undefined) throw new Error(`session ${key.sessionId} was deleted meanwhile`);
    after = last.seq;
  }
}

/** Its place is the line's. */
function shownEvent(event: LogEvent): Omit<LogEvent, "seq"> {
  const { id, type, thread_id, cross_posted, v, processed_at, epoch } = event;
  const envelope = { id, type, thread_id, cross_posted, v, processed_at, epoch };
  return { ...envelope, public: event.public, private: event.private } as Omit<LogEvent, "seq">;
}

async function filesOf(store: Store, { workspaceId, sessionId }: SessionKey) {
  const files: FileRecord[] = [];
  for (let after: PagePosition | undefined; ; ) {
    const page = {
      limit: PAGE_FILES,
      order: "asc" as const,
      ...(after !== undefined && { after }),
    };
    const some = await store.files.list(workspaceId, { sessionId }, page);
    files.push(...some);
    const last = some.at(-1);
    if (last === undefined || some.length < PAGE_FILES) return files;
    after = { created_at: last.created_at, id: last.id };
  }
}

function shownFile(file: FileRecord): object {
  const { id, filename, mime_type, size_bytes, sha256, created_at, expires_at } = file;
  const { downloadable, output_path } = file;
  return {
    ...{ id, filename, mime_type, size_bytes, sha256, created_at, expires_at },
    ...{ downloadable, output_path },
  };
}

/** In pieces of one size, however the blob store cuts them: the same content is the same lines. */
async function* piecesOf(content: AsyncIterable<Uint8Array>): AsyncGenerator<{ bytes: string }> {
  let rest = Buffer.alloc(0);
  for await (const chunk of content) {
    rest = Buffer.concat([rest, chunk]);
    while (rest.byteLength >= PIECE_BYTES) {
      yield { bytes: rest.subarray(0, PIECE_BYTES).toString("base64") };
      rest = rest.subarray(PIECE_BYTES);
    }
  }
  if (rest.byteLength > 0) yield { bytes: rest.toString("base64") };
}
