import type { ApiKeyRecord } from "../../core/ports/records.ts";
import type { PageRequest } from "../../core/ports/sessions.ts";
import { allOf, type SqlRunner, type SqlTransaction, sql } from "../sql.ts";
import { afterPosition, pageEnd } from "./pages.ts";

const COLUMNS = sql`workspace_id, id, name, role, key_sha256, created_at, revoked_at`;

export function findApiKey(db: SqlRunner, keySha256: string): Promise<ApiKeyRecord | undefined> {
  return db.get<ApiKeyRecord>(sql`
    select ${COLUMNS} from api_keys where key_sha256 = ${keySha256} and revoked_at is null`);
}

export function listApiKeys(db: SqlRunner, workspaceId: string): Promise<readonly ApiKeyRecord[]> {
  return db.all<ApiKeyRecord>(sql`
    select ${COLUMNS} from api_keys where workspace_id = ${workspaceId} order by created_at, id`);
}

export function listApiKeysPage(
  db: SqlRunner,
  workspaceId: string,
  page: PageRequest,
): Promise<readonly ApiKeyRecord[]> {
  return db.all<ApiKeyRecord>(sql`
    select ${COLUMNS} from api_keys
    where workspace_id = ${workspaceId} and ${allOf([afterPosition(page)])}
    ${pageEnd(page)}`);
}

export async function insertApiKey(tx: SqlTransaction, key: ApiKeyRecord): Promise<void> {
  await tx.db.all(sql`
    insert into api_keys (${COLUMNS}) values (
      ${key.workspace_id}, ${key.id}, ${key.name}, ${key.role}, ${key.key_sha256},
      ${key.created_at}, ${key.revoked_at}
    )`);
}

export async function revokeApiKey(
  tx: SqlTransaction,
  workspaceId: string,
  id: string,
  revokedAt: string,
): Promise<void> {
  await tx.db.all(sql`
    update api_keys set revoked_at = coalesce(revoked_at, ${revokedAt})
    where workspace_id = ${workspaceId} and id = ${id}`);
}
