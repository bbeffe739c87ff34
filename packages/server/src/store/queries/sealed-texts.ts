import type { SealedPosition, SealedText, SealedTexts } from "../../core/ports/encryption.ts";
import { SEALED_COLUMNS, type SealedColumn } from "../sealed-columns.ts";
import { allOf, oneOf, type SqlRunner, type SqlTransaction, sql } from "../sql.ts";

type Row = Readonly<Record<string, string | number>>;

export function sealedTexts({ db }: SqlTransaction): SealedTexts {
  return {
    list: async ({ limit, after }) => {
      const start = SEALED_COLUMNS.findIndex(({ name }) => name === after?.column);
      const found: SealedText[] = [];
      for (const each of SEALED_COLUMNS.slice(Math.max(start, 0))) {
        const row = each.name === after?.column ? after.row : undefined;
        found.push(...(await listColumn(db, each, { limit: limit - found.length, after: row })));
        if (found.length >= limit) break;
      }
      return found;
    },
    replace: async ({ position, sealed: before }, sealed) => {
      const { table, column, key } = columnOf(position);
      await db.all(sql`
        update ${table} set ${column} = ${sealed}
        where (${key}) = ${oneOf(position.row)} and ${column} = ${before}`);
    },
  };
}

async function listColumn(
  db: SqlRunner,
  { name, table, column, key }: SealedColumn,
  { limit, after }: { limit: number; after: SealedPosition["row"] | undefined },
): Promise<readonly SealedText[]> {
  const rows = await db.all<Row>(sql`
    select ${key}, ${column} as sealed from ${table}
    where ${column} is not null
      and ${allOf([after === undefined ? undefined : sql`(${key}) > ${oneOf(after)}`])}
    order by ${key} limit ${limit}`);
  return rows.map(({ sealed = "", ...row }) => ({
    position: { column: name, row: Object.values(row) },
    sealed: String(sealed),
  }));
}

function columnOf({ column }: SealedPosition): SealedColumn {
  const found = SEALED_COLUMNS.find(({ name }) => name === column);
  if (found === undefined) throw new Error(`${column} is no column of secrets`);
  return found;
}
