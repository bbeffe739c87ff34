import type { PageRequest } from "../../core/ports/sessions.ts";
import { allOf, type Query, sql } from "../sql.ts";

/** RFC 3339 bounds. */
export interface TimeBounds {
  readonly gt?: string;
  readonly gte?: string;
  readonly lt?: string;
  readonly lte?: string;
}

export function direction(order: "asc" | "desc"): Query {
  return order === "asc" ? sql`asc` : sql`desc`;
}

/** The columns that a table is read by. */
export interface Place {
  readonly created_at: Query;
  readonly id: Query;
}

const PLACE: Place = { created_at: sql`created_at`, id: sql`id` };

/** The rows after the page's position, for tables read by (created_at, id). */
export function afterPosition(
  { after, order }: PageRequest,
  place: Place = PLACE,
): Query | undefined {
  if (after === undefined) return undefined;
  const position = sql`(${place.created_at}, ${place.id})`;
  return order === "asc"
    ? sql`${position} > (${after.created_at}, ${after.id})`
    : sql`${position} < (${after.created_at}, ${after.id})`;
}

/** `order by` and `limit` of a page, for tables read by (created_at, id). */
export function pageEnd({ order, limit }: PageRequest, place: Place = PLACE): Query {
  const way = direction(order);
  return sql`order by ${place.created_at} ${way}, ${place.id} ${way} limit ${limit}`;
}

/** The rows whose time is within the bounds, whatever zone and precision those are written in. */
export function within(column: Query, bounds: TimeBounds | undefined): Query | undefined {
  if (bounds === undefined) return undefined;
  const { gt, gte, lt, lte } = bounds;
  return allOf([
    gt === undefined ? undefined : sql`${column} > ${canonical(gt)}`,
    gte === undefined ? undefined : sql`${column} >= ${canonical(gte)}`,
    lt === undefined ? undefined : sql`${column} < ${canonical(lt)}`,
    lte === undefined ? undefined : sql`${column} <= ${canonical(lte)}`,
  ]);
}

/** The time as this store writes it, so that comparing text compares times. */
export function canonical(time: string): string {
  return new Date(time).toISOString();
}
