import type {
  EncryptionKeyRecord,
  EncryptionKeys,
  EncryptionKeyWriter,
} from "../../core/ports/encryption.ts";
import { type SqlRunner, type SqlTransaction, sql } from "../sql.ts";

export function encryptionKeyReader(db: SqlRunner): EncryptionKeys {
  return {
    list: () =>
      db.all<EncryptionKeyRecord>(sql`
        select key_id, created_at, retired_at from encryption_keys order by created_at, key_id`),
  };
}

export function encryptionKeyWriter({ db, now }: SqlTransaction): EncryptionKeyWriter {
  return {
    ...encryptionKeyReader(db),
    use: async (keyId) => {
      await db.all(sql`
        insert into encryption_keys (key_id, created_at) values (${keyId}, ${now})
        on conflict (key_id) do update set retired_at = null`);
    },
    retire: async (keyId, retiredAt) => {
      await db.all(sql`
        update encryption_keys set retired_at = ${retiredAt} where key_id = ${keyId}`);
    },
    remove: async (keyId) => {
      await db.all(sql`delete from encryption_keys where key_id = ${keyId}`);
    },
  };
}
