import type { WorkspaceRecord, Workspaces, WorkspaceWriter } from "../../core/ports/workspaces.ts";
import { allOf, type SqlRunner, type SqlTransaction, sql } from "../sql.ts";
import { afterPosition, pageEnd } from "./pages.ts";

const COLUMNS = sql`id, name, created_at`;

export function workspaceReader(db: SqlRunner): Workspaces {
  return {
    find: (id) => db.get<WorkspaceRecord>(sql`select ${COLUMNS} from workspaces where id = ${id}`),
    list: (page) =>
      db.all<WorkspaceRecord>(sql`
        select ${COLUMNS} from workspaces where ${allOf([afterPosition(page)])} ${pageEnd(page)}`),
  };
}

export function workspaceWriter(tx: SqlTransaction): WorkspaceWriter {
  return {
    ...workspaceReader(tx.db),
    insert: async ({ id, name, created_at }) => {
      await tx.db.all(sql`
        insert into workspaces (${COLUMNS}) values (${id}, ${name}, ${created_at})
        on conflict (id) do nothing`);
    },
  };
}
