import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";

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

/** Reads a session's log from the database file and its lines from its workspace. */
export function readSession(data: string, sessionId: string): SessionSnapshot {
  using database = new Closing(join(data, "drover.db"));
  const row = database.one(
    `select session_key, hand_id, status, last_seq, wake_at,
       (select count(*) from inbox where inbox.session_key = sessions.session_key) as waiting
     from sessions where id = ?`,
    sessionId,
  );
  const events = database.all(
    `select seq, id, type, epoch, processed_at, public, private
     from events where session_key = ? order by seq`,
    row["session_key"] ?? null,
  );
  return {
    id: sessionId,
    status: String(row["status"]),
    lastSeq: Number(row["last_seq"]),
    isDue: row["wake_at"] !== null,
    waiting: Number(row["waiting"]),
    events: events.map(eventOf),
    lines: readLines(data, String(row["hand_id"])),
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

/** Hands whose session was deleted, and whose folder is there all the same. */
export function leftoverHands(data: string, folders: readonly string[]): readonly string[] {
  using database = new Closing(join(data, "drover.db"));
  const kept = database.all("select hand_id from sessions where deleted_at is null");
  const known = new Set(kept.map((row) => String(row["hand_id"])));
  return folders.filter((folder) => !known.has(folder));
}

/** What SQLite itself says of the file: `ok`. */
export function integrityOf(data: string): string {
  using database = new Closing(join(data, "drover.db"));
  return String(database.one("pragma integrity_check")["integrity_check"]);
}

type Row = Record<string, SQLOutputValue>;

class Closing implements Disposable {
  readonly #database: DatabaseSync;

  constructor(path: string) {
    this.#database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  }

  all(query: string, ...values: (string | number | bigint | null | Uint8Array)[]): readonly Row[] {
    return this.#database.prepare(query).all(...values);
  }

  one(query: string, ...values: (string | number | bigint | null | Uint8Array)[]): Row {
    const [row] = this.all(query, ...values);
    if (row === undefined) throw new Error(`nothing is found by ${query} (${values.join()})`);
    return row;
  }

  [Symbol.dispose](): void {
    this.#database.close();
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
