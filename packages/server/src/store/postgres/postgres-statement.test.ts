import { expect, test } from "vitest";
import { allOf, sql } from "../sql.ts";
import { statementOf } from "./postgres-statement.ts";

test("values become numbered parameters, wherever a statement is composed", () => {
  const query = sql`select * from t where ${allOf([sql`a = ${1}`, sql`b = ${"x"}`])} limit ${3}`;
  expect(statementOf(query)).toMatchObject({
    text: "select * from t where a = $1 and b = $2 limit $3",
    values: [1, "x", 3],
  });
});

test("a name stands for one text, however often and in whatever way it is made", () => {
  const fixed = (a: number) => statementOf(sql`select ${a}`);
  const composed = (a: number) => statementOf(sql`select ${sql`${a}`}`);
  expect(fixed(1).name).toBe(fixed(2).name);
  expect(composed(1).name).toBe(fixed(1).name);
  expect(statementOf(sql`select ${1} as other`).name).not.toBe(fixed(1).name);
});

test("texts that never come again do not use up the connection's memory", () => {
  const names = Array.from({ length: 500 }, (_, index) => {
    const parts = ["select ", ` as column_${index}`];
    return statementOf({ parts, values: [1] }).name;
  });
  expect(names.at(0)).toBeDefined();
  expect(names.at(-1)).toBeUndefined();
});

test("a NUL, which PostgreSQL refuses, finds nothing", () => {
  expect(statementOf(sql`select ${"a\0b"}, ${null}`).values).toEqual(["a\ufffdb", null]);
});
