import { expect, test } from "vitest";
import { allOf, oneOf, type Query, sql } from "./sql.ts";

function rendered({ parts, values }: Query): readonly [string, readonly unknown[]] {
  const text = parts.map((part, index) => (index === 0 ? part : `$${index}${part}`)).join("");
  return [text, values];
}

test("keeps values out of the text", () => {
  expect(rendered(sql`select ${1}, ${"'; drop"} from t where a = ${null}`)).toEqual([
    "select $1, $2 from t where a = $3",
    [1, "'; drop", null],
  ]);
});

test("gives a statement without pieces the identity of its template", () => {
  const make = (value: number) => sql`select ${value}`;
  expect(make(1).parts).toBe(make(2).parts);
});

test("puts pieces in their place, also at the ends and next to each other", () => {
  const piece = sql`b = ${2}`;
  const bare = sql`c`;
  expect(rendered(sql`${bare}${piece} and ${1}${piece}${bare}`)).toEqual([
    "cb = $1 and $2b = $3c",
    [2, 1, 2],
  ]);
});

test("joins the conditions that are there", () => {
  expect(rendered(allOf([undefined, sql`a = ${1}`, undefined, sql`b = ${2} or c`]))).toEqual([
    "a = $1 and b = $2 or c",
    [1, 2],
  ]);
  expect(rendered(allOf([undefined]))).toEqual(["1 = 1", []]);
});

test("lists values, and nothing for none", () => {
  expect(rendered(sql`a in ${oneOf(["x", "y"])}`)).toEqual(["a in ($1, $2)", ["x", "y"]]);
  expect(rendered(oneOf([]))).toEqual(["(null)", []]);
});
