import { z } from "zod";
import { text } from "./text.ts";

export const pageLimitDefault = 20;
export const pageLimitMax = 1000;
/** A cursor may hold the path of a memory, 1,024 bytes that JSON and base64 make nearly three times as long. */
const cursorMax = 4096;
const queryValuesMax = 200;

/** Query values are text: this is a whole number between `min` and `max` in decimal. */
export function queryInteger(min: number, max: number) {
  return z
    .string()
    .regex(/^\d{1,9}$/, "must be a whole number")
    .transform(Number)
    .pipe(z.number().int().min(min).max(max));
}

export const QueryBoolean = z
  .enum(["true", "false"])
  .transform((value) => value === "true")
  .pipe(z.boolean());

/** `name[]=a&name[]=b`, or `name=a&name=b`; both as `queryRecord` gives them. */
export function queryArray<T extends z.ZodType>(item: T, max: number) {
  return z.preprocess(
    (value) => (typeof value === "string" ? [value] : value),
    z.array(item).max(max),
  );
}

/** RFC 3339; given out in UTC with milliseconds, so that it compares as text with stored times. */
export const QueryTime = z.iso
  .datetime({ offset: true })
  .transform((value) => new Date(value).toISOString())
  .pipe(z.iso.datetime());

export const limitQuery = { limit: queryInteger(1, pageLimitMax).optional() };
export const pageQuery = { ...limitQuery, page: text(cursorMax).optional() };
export const archivedQuery = { include_archived: QueryBoolean.optional() };
export const createdWithinQuery = {
  "created_at[gte]": QueryTime.optional(),
  "created_at[lte]": QueryTime.optional(),
};
export const createdRangeQuery = {
  ...createdWithinQuery,
  "created_at[gt]": QueryTime.optional(),
  "created_at[lt]": QueryTime.optional(),
};
export const orderQuery = { order: z.enum(["asc", "desc"]).optional() };

/** `limit` and `page` alone. */
export const PageQuery = z.strictObject(pageQuery);
export type PageQuery = z.infer<typeof PageQuery>;

/** What most lists answer; `next_page` null is the end. */
export interface Page<T> {
  readonly data: T[];
  readonly next_page: string | null;
}

/** What the list of sessions answers. */
export interface BidirectionalPage<T> extends Page<T> {
  readonly prev_page: string | null;
}

/** What the list of models answers. */
export interface IdPage<T> {
  readonly data: T[];
  readonly has_more: boolean;
  readonly first_id: string | null;
  readonly last_id: string | null;
}

/**
 * A query string as the value that the `…Query` schemas read: `types[]` becomes `types`, a name that
 * comes several times an array. Empty values are absent (the official client sends null so), and so is
 * `beta`, which older clients add to every path.
 */
export function queryRecord(query: URLSearchParams): Record<string, string | string[]> {
  const values = new Map<string, string | string[]>();
  for (const [rawName, value] of [...query].slice(0, queryValuesMax)) {
    if (value === "" || rawName === "beta") continue;
    const isArray = rawName.endsWith("[]");
    const name = isArray ? rawName.slice(0, -2) : rawName;
    const before = values.get(name);
    if (before === undefined) values.set(name, isArray ? [value] : value);
    else values.set(name, [before, value].flat());
  }
  return Object.fromEntries(values);
}
