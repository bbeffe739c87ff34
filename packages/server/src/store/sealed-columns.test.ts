import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SEALED_COLUMNS } from "./sealed-columns.ts";

test("every column of the schema that holds secrets is known, with the key of its table", () => {
  const schema = readFileSync(join(import.meta.dirname, "schema.sql"), "utf8");
  const tables = [...schema.matchAll(/^CREATE TABLE (\w+) \(\n(.*?)^(?:, [^\n]*)?\);/gms)];
  const found = tables.flatMap(([, table = "", body = ""]) => {
    const key = /^ {2}primary key \(([^)]+)\)/m.exec(body)?.[1];
    const columns = [...body.matchAll(/^ {2}(\w+_sealed) /gm)].map(([, column]) => column);
    return columns.map((column) => ({ name: `${table}.${column}`, key }));
  });
  const known = SEALED_COLUMNS.map(({ name, key }) => ({ name, key: key.parts.join("?") }));
  expect(known).toEqual(found);
  expect(found).not.toEqual([]);
});

test("a column's statement names the column that it is known by", () => {
  for (const { name, table, column } of SEALED_COLUMNS) {
    expect(name).toBe(`${table.parts.join("?")}.${column.parts.join("?")}`);
  }
});
