import { type Query, sql } from "./sql.ts";

/** A column that holds texts which a `SecretBox` sealed; null in rows without one. */
export interface SealedColumn {
  /** `table.column`. */
  readonly name: string;
  readonly table: Query;
  readonly column: Query;
  /** The columns of the primary key, separated by `, `. */
  readonly key: Query;
}

/**
 * Every such column: a rotation of the encryption key renews these and no others. Their names end in
 * `_sealed`, by which a test finds one that is missing here.
 */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  {
    name: "credential_secrets.secret_sealed",
    table: sql`credential_secrets`,
    column: sql`secret_sealed`,
    key: sql`workspace_id, credential_id, name`,
  },
  {
    name: "session_repository_tokens.token_sealed",
    table: sql`session_repository_tokens`,
    column: sql`token_sealed`,
    key: sql`workspace_id, session_key, resource_id`,
  },
];
