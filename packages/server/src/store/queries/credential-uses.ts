import type {
  CredentialUseFacts,
  CredentialUseRecord,
  CredentialUses,
  CredentialUseWriter,
} from "../../core/ports/credential-uses.ts";
import { allOf, type SqlRunner, type SqlTransaction, sql } from "../sql.ts";
import { afterPosition, type Place, pageEnd } from "./pages.ts";

/** Of RFC 3339: up to the minutes. */
const MINUTE_LENGTH = 16;
/** Of one session; a program may make up hosts for ever. Those that are too many are one, `*`. */
const RECORDS_A_MINUTE = 200;

const COLUMNS = sql`
  workspace_id, id, session_id, api_key_id, vault_id, credential_id, host, purpose, verdict, reason,
  releases, requests, first_at, last_at`;

const PLACE: Place = { created_at: sql`first_at`, id: sql`id` };

export function credentialUseReader(db: SqlRunner): CredentialUses {
  return {
    list: async (workspaceId, { sessionId, credentialId }, page) => {
      const rows = await db.all<CredentialUseRecord>(sql`
        select ${COLUMNS} from credential_uses
        where workspace_id = ${workspaceId} and ${allOf([
          sessionId === undefined ? undefined : sql`session_id = ${sessionId}`,
          credentialId === undefined ? undefined : sql`credential_id = ${credentialId}`,
          afterPosition(page, PLACE),
        ])}
        ${pageEnd(page, PLACE)}`);
      return rows.map((row) => ({
        ...row,
        releases: Number(row.releases),
        requests: Number(row.requests),
      }));
    },
  };
}

export function credentialUseWriter(tx: SqlTransaction): CredentialUseWriter {
  const { db, now } = tx;
  return {
    ...credentialUseReader(db),
    add: async (given, { id, releases, requests }) => {
      const facts = (await isTooMany(tx, given)) ? { ...given, host: "*" } : given;
      const { workspace_id, session_id, api_key_id, vault_id, credential_id } = facts;
      await db.all(sql`
        insert into credential_uses (${COLUMNS}, minute) values (
          ${workspace_id}, ${id}, ${session_id}, ${api_key_id}, ${vault_id}, ${credential_id},
          ${facts.host}, ${facts.purpose}, ${facts.verdict}, ${facts.reason},
          ${releases}, ${requests}, ${now}, ${now}, ${now.slice(0, MINUTE_LENGTH)})
        on conflict (
          workspace_id, session_id, minute, credential_id, host, purpose, verdict, reason
        ) do update set
          releases = credential_uses.releases + excluded.releases,
          requests = credential_uses.requests + excluded.requests,
          last_at = excluded.last_at`);
    },
  };
}

/** Whether a record of its own would be one more than a session may have of this minute. */
async function isTooMany(
  { db, now }: SqlTransaction,
  { workspace_id, session_id, host }: CredentialUseFacts,
): Promise<boolean> {
  const minute = now.slice(0, MINUTE_LENGTH);
  const row = await db.get<{ found: number; known: number }>(sql`
    select count(*) as found, count(case when host = ${host} then 1 end) as known
    from credential_uses
    where workspace_id = ${workspace_id} and session_id = ${session_id} and minute = ${minute}`);
  return Number(row?.found ?? 0) >= RECORDS_A_MINUTE && Number(row?.known ?? 0) === 0;
}
