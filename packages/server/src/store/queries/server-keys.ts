import type { ServerKeys } from "../../core/ports/server-keys.ts";
import { type SqlTransaction, sql } from "../sql.ts";

export function serverKeys({ db, now }: SqlTransaction): ServerKeys {
  return {
    ensure: async (name, made) => {
      await db.all(sql`
        insert into server_keys (name, value, created_at) values (${name}, ${made}, ${now})
        on conflict (name) do nothing`);
      const row = await db.get<{ value: string }>(
        sql`select value from server_keys where name = ${name}`,
      );
      return row?.value ?? made;
    },
  };
}
