import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { queryPostgres } from "@drover/testing";

type Json = Readonly<Record<string, unknown>>;

export interface LoggedEvent {
  readonly seq: number;
  readonly id: string;
  readonly type: string;
  readonly epoch: number;
  readonly processedAt: string;
  readonly body: Json;
  readonly origin: Json;
}

export interface LineWritten {
  readonly mark: string;
  readonly atMs: number;
}

/** One session as it lies on the disk, read past the server. */
export interface SessionSnapshot {
  readonly id: string;
  readonly status: string;
  readonly lastSeq: number;
  readonly isDue: boolean;
  readonly waiting: number;
  readonly events: readonly LoggedEvent[];
  readonly lines: readonly LineWritten[];
}

/** Where an installation keeps what it has. */
export interface Disk {
  readonly data: string;
  /** Of its PostgreSQL database; undefined for the file in its data folder. */
  readonly databaseUrl: string | undefined;
}

/** Reads a session's log from the database and its lines from its workspace. */
export async function readSession(disk: Disk, sessionId: string): Promise<SessionSnapshot> {
  const [row] = await rows(
    disk,
    `select session_key, hand_id, status, last_seq, wake_at,
       (select count(*) from inbox where inbox.session_key = sessions.session_key) as waiting
     from sessions where id = $1`,
    sessionId,
  );
  if (row === undefined) throw new Error(`the database has no session ${sessionId}`);
  const events = await rows(
    disk,
    `select seq, id, type, epoch, processed_at, public, private
     from events where session_key = $1 order by seq`,
    String(row["session_key"]),
  );
  return {
    id: sessionId,
    status: String(row["status"]),
    lastSeq: Number(row["last_seq"]),
    isDue: row["wake_at"] !== null,
    waiting: Number(row["waiting"]),
    events: events.map(eventOf),
    lines: readLines(disk.data, String(row["hand_id"])),
  };
}

export function readLines(data: string, handId: string): readonly LineWritten[] {
  const path = join(data, "hands", handId, "workspace", "lines");
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter(Boolean).map((line) => {
    const [mark = "", seconds] = line.split(" ");
    return { mark, atMs: Number(seconds) * 1000 };
  });
}

/** What the database itself says of its file: `ok`. PostgreSQL is not asked. */
export async function integrityOf(disk: Disk): Promise<string> {
  if (disk.databaseUrl !== undefined) return "ok";
  const [row] = await rows(disk, "pragma integrity_check");
  return String(row?.["integrity_check"]);
}

type Row = Readonly<Record<string, unknown>>;

async function rows(
  { data, databaseUrl }: Disk,
  query: string,
  ...values: readonly string[]
): Promise<readonly Row[]> {
  if (databaseUrl !== undefined) return await queryPostgres(databaseUrl, query, values);
  const database = new DatabaseSync(join(data, "drover.db"), { readOnly: true, timeout: 5_000 });
  try {
    return database.prepare(query.replaceAll("$1", "?")).all(...values);
  } finally {
    database.close();
  }
}

function eventOf(row: Row): LoggedEvent {
  return {
    seq: Number(row["seq"]),
    id: String(row["id"]),
    type: String(row["type"]),
    epoch: Number(row["epoch"]),
    processedAt: String(row["processed_at"]),
    body: JSON.parse(String(row["public"])),
    origin: JSON.parse(String(row["private"] ?? "{}")) ?? {},
  };
}
