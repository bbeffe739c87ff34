import type { Touched } from "./touched.ts";

/**
 * SQL as a value: text with holes, rendered by each engine in its own way.
 *
 * Why no query builder: on SQLite a statement must run synchronously inside a group of transactions,
 * Kysely's execution is asynchronous, and an append through it takes 2.5 times as long as written
 * SQL (112-135 against 44 µs, SQLite 3, Node 20 and 24). What is left of it then is composing optional
 * conditions, which this file does. The statements keep to what SQLite and PostgreSQL share.
 */
export type SqlValue = string | number | null;

export interface Query {
  /** The text around the values: always one part more than values. */
  readonly parts: readonly string[];
  readonly values: readonly SqlValue[];
}

/** Runs statements. Implementations may run them at once; callers await them all the same. */
export interface SqlRunner {
  /** The rows that the statement returns, of the shape that the statement itself gives them. */
  all<Row>(query: Query): Promise<readonly Row[]>;
  /** The first row, if there is one. */
  get<Row>(query: Query): Promise<Row | undefined>;
}

/** What the statements of one transaction share. */
export interface SqlTransaction {
  readonly db: SqlRunner;
  /** RFC 3339 with milliseconds. */
  readonly now: string;
  readonly touched: Touched;
  /** A condition that is true if the holder of leases in this column is gone; absent if nothing tells. */
  readonly isHolderGone?: (column: Query) => Query;
  /** False only for the fault campaign, which must catch what comes of appends without a lease. */
  readonly isFenced: boolean;
}

/** A statement or a piece of one. Values become parameters; other queries become part of the text. */
export function sql(strings: TemplateStringsArray, ...holes: readonly (SqlValue | Query)[]): Query {
  if (!holes.some(isQuery)) return { parts: strings, values: holes.filter(isValue) };
  const parts: string[] = [strings[0] ?? ""];
  const values: SqlValue[] = [];
  for (const [index, hole] of holes.entries()) {
    const next = strings[index + 1] ?? "";
    if (!isQuery(hole)) {
      values.push(hole);
      parts.push(next);
      continue;
    }
    values.push(...hole.values);
    parts.push(`${parts.pop()}${hole.parts[0] ?? ""}`, ...hole.parts.slice(1));
    parts.push(`${parts.pop()}${next}`);
  }
  return { parts, values };
}

/** All conditions that are there, joined by `and`; true if there are none. */
export function allOf(conditions: readonly (Query | undefined)[]): Query {
  const present = conditions.filter((condition) => condition !== undefined);
  return joined(present, " and ") ?? sql`1 = 1`;
}

/** `($1, $2, …)`, to stand after `in`; `(null)`, which nothing is in, for no values. */
export function oneOf(values: readonly SqlValue[]): Query {
  return sql`(${
    joined(
      values.map((value) => sql`${value}`),
      ", ",
    ) ?? sql`null`
  })`;
}

/** The queries with the separator between them; undefined if there are none. */
export function joined(queries: readonly Query[], separator: string): Query | undefined {
  const [first, ...rest] = queries;
  if (first === undefined) return undefined;
  const parts = [...first.parts];
  const values = [...first.values];
  for (const query of rest) {
    parts.push(`${parts.pop()}${separator}${query.parts[0] ?? ""}`, ...query.parts.slice(1));
    values.push(...query.values);
  }
  return { parts, values };
}

function isQuery(hole: SqlValue | Query): hole is Query {
  return typeof hole === "object" && hole !== null;
}

function isValue(hole: SqlValue | Query): hole is SqlValue {
  return !isQuery(hole);
}
