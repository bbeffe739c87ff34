import { type EventColumns, hashesOf } from "../event-row.ts";
import type { LargeString } from "../large-strings.ts";
import { oneOf, type SqlRunner, type SqlTransaction, sql } from "../sql.ts";

/** Hashes asked for in one statement; both engines bound the number of parameters. */
const HASHES_AT_ONCE = 500;

/** Keeps each string once a session: input goes through the inbox into the log without a second copy. */
export async function putContents(
  tx: SqlTransaction,
  workspaceId: string,
  sessionKey: number,
  contents: readonly LargeString[],
): Promise<void> {
  await Promise.all(
    contents.map(({ sha256, body }) =>
      tx.db.all(sql`
        insert into event_contents (session_key, sha256, workspace_id, body)
        values (${sessionKey}, ${sha256}, ${workspaceId}, ${body})
        on conflict (session_key, sha256) do nothing`),
    ),
  );
}

/**
 * Rows and the large strings that they refer to, by hash, as JSON text. A commit may come between the
 * two statements; only deleting the session takes content away, and then the rows are gone too.
 */
export async function readWithContents<Row extends EventColumns & { session_key: number }>(
  db: SqlRunner,
  readRows: () => Promise<readonly Row[]>,
): Promise<{ readonly rows: readonly Row[]; readonly contents: ReadonlyMap<string, string> }> {
  const rows = await readRows();
  const hashes = [...new Set(hashesOf(rows))];
  const contents = await getContents(db, rows[0]?.session_key, hashes);
  return { rows: contents.size === hashes.length ? rows : await readRows(), contents };
}

async function getContents(
  db: SqlRunner,
  sessionKey: number | undefined,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const contents = new Map<string, string>();
  for (let at = 0; sessionKey !== undefined && at < hashes.length; at += HASHES_AT_ONCE) {
    const found = await db.all<{ sha256: string; body: string }>(sql`
      select sha256, body from event_contents
      where session_key = ${sessionKey}
        and sha256 in ${oneOf(hashes.slice(at, at + HASHES_AT_ONCE))}`);
    for (const { sha256, body } of found) contents.set(sha256, body);
  }
  return contents;
}
