import { createHmac, timingSafeEqual } from "node:crypto";
import { type BidirectionalPage, type Page, pageLimitDefault, pageLimitMax } from "@drover/api";
import { InvalidRequestError } from "../core/errors.ts";
import type { PagePosition, PageRequest } from "../core/ports/sessions.ts";

export type Order = "asc" | "desc";

/** Where a cursor may be used: nowhere else does it open. */
export interface CursorScope {
  readonly workspaceId: string;
  /** What is listed, with its parent: `agents`, `agent_1/versions`. */
  readonly list: string;
  readonly order: Order;
}

export interface Cursor {
  /** `after` goes on in the list's order, `before` goes back. */
  readonly direction: "after" | "before";
  /** Of the row at the edge of the page that the cursor came with. */
  readonly position: readonly string[];
}

/**
 * Opaque, authenticated cursors. They bind workspace, list and order, and say nothing of filters, so
 * that these may change between pages.
 */
export interface Cursors {
  seal(scope: CursorScope, cursor: Cursor): string;
  /** Rejects what was not sealed for this scope with an `InvalidRequestError` that names `page`. */
  open(scope: CursorScope, page: string): Cursor;
}

/** Bytes of a cursor's code: 128 bits are more than anybody can try. */
const CODE_BYTES = 16;
const KEY_BYTES_MIN = 32;

/** `key` must be the same in all processes of an installation, at least 32 bytes, and secret. */
export function createCursors({ key }: { key: Uint8Array }): Cursors {
  if (key.byteLength < KEY_BYTES_MIN) throw new Error("the key of cursors is too short");
  const codeOf = (scope: CursorScope, payload: Uint8Array): Buffer =>
    createHmac("sha256", key)
      .update(`drover.cursor.1\0${scope.workspaceId}\0${scope.list}\0`)
      .update(payload)
      .digest()
      .subarray(0, CODE_BYTES);
  return {
    seal: (scope, { direction, position }) => {
      const payload = Buffer.from(JSON.stringify([direction, scope.order, ...position]));
      return Buffer.concat([codeOf(scope, payload), payload]).toString("base64url");
    },
    open: (scope, page) => {
      const bytes = Buffer.from(page, "base64url");
      const payload = bytes.subarray(CODE_BYTES);
      const code = bytes.subarray(0, CODE_BYTES);
      // Decoding forgives what encoding would never write, such as a letter too many.
      const isWhole = code.length === CODE_BYTES && bytes.toString("base64url") === page;
      if (!isWhole || !timingSafeEqual(code, codeOf(scope, payload))) {
        throw new InvalidRequestError("page: not a cursor of this list");
      }
      return readPayload(scope, payload);
    },
  };
}

/** What is authenticated was written by `seal`, so a wrong form is a bug, not the caller's error. */
function readPayload(scope: CursorScope, payload: Uint8Array): Cursor {
  const parts: unknown = JSON.parse(Buffer.from(payload).toString());
  if (!Array.isArray(parts) || !parts.every((part) => typeof part === "string")) {
    throw new Error("a sealed cursor has another form");
  }
  const [direction, order, ...position] = parts;
  if (order !== scope.order) {
    throw new InvalidRequestError(`page: the cursor belongs to order=${order}`);
  }
  return { direction: direction === "before" ? "before" : "after", position };
}

export interface PageOptions<Row, Item> {
  readonly cursors: Cursors;
  readonly scope: CursorScope;
  readonly query: { readonly limit?: number | undefined; readonly page?: string | undefined };
  /** Where rows are large: a page has no more of them, whatever `limit` says. */
  readonly limitMax?: number;
  /** Bounds on `created_at`: a cursor outside them cannot be gone on from. */
  readonly createdAt?: CreatedAt;
  readonly read: (request: PageRequest) => Promise<readonly Row[]>;
  readonly present: (row: Row) => Item;
}

export interface CreatedAt {
  readonly gt?: string;
  readonly gte?: string;
  readonly lt?: string;
  readonly lte?: string;
}

/** One page of rows by (created_at, id), with the cursors to both sides; null where the list ends. */
export async function readPage<Row extends PagePosition, Item>(
  options: PageOptions<Row, Item>,
): Promise<BidirectionalPage<Item>> {
  const { scope, query } = options;
  const limit = Math.min(query.limit ?? pageLimitDefault, options.limitMax ?? pageLimitMax);
  const cursor = query.page === undefined ? undefined : options.cursors.open(scope, query.page);
  const isBackward = cursor?.direction === "before";
  const after = positionOf(cursor, options.createdAt);
  const found = await options.read({
    limit: limit + 1,
    order: isBackward ? opposite(scope.order) : scope.order,
    ...(after === undefined ? {} : { after }),
  });
  const nearest = found.slice(0, limit);
  const rows = isBackward ? nearest.toReversed() : nearest;
  const hasMore = found.length > limit;
  const hasPrevious = isBackward ? hasMore : cursor !== undefined;
  const edge = (row: Row | undefined, direction: Cursor["direction"]): string | null =>
    row === undefined
      ? null
      : options.cursors.seal(scope, { direction, position: [row.created_at, row.id] });
  return {
    data: rows.map(options.present),
    next_page: isBackward || hasMore ? edge(rows.at(-1), "after") : null,
    prev_page: hasPrevious ? edge(rows[0], "before") : null,
  };
}

export interface ForwardPageOptions<Row, Item> {
  readonly cursors: Cursors;
  readonly scope: CursorScope;
  readonly query: { readonly limit?: number | undefined; readonly page?: string | undefined };
  readonly limitMax?: number;
  /** The rows after the position, or from the start. */
  readonly read: (limit: number, after: readonly string[] | undefined) => Promise<readonly Row[]>;
  /** Where a row lies in the list: never the same for two rows, and never changed. */
  readonly positionOf: (row: Row) => readonly string[];
  readonly present: (row: Row) => Item;
}

/** One page of rows in an order of their own; null where the list ends. */
export async function readForwardPage<Row, Item>(
  options: ForwardPageOptions<Row, Item>,
): Promise<Page<Item>> {
  const { cursors, scope, query } = options;
  const limit = Math.min(query.limit ?? pageLimitDefault, options.limitMax ?? pageLimitMax);
  const cursor = query.page === undefined ? undefined : cursors.open(scope, query.page);
  const found = await options.read(limit + 1, cursor?.position);
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  const hasMore = found.length > limit && last !== undefined;
  return {
    data: rows.map(options.present),
    next_page: hasMore
      ? cursors.seal(scope, { direction: "after", position: options.positionOf(last) })
      : null,
  };
}

/** The bounds of a list query, in the form that filters and `readPage` take. */
export function createdAtOf(query: {
  readonly "created_at[gt]"?: string | undefined;
  readonly "created_at[gte]"?: string | undefined;
  readonly "created_at[lt]"?: string | undefined;
  readonly "created_at[lte]"?: string | undefined;
}): CreatedAt {
  const { "created_at[gt]": gt, "created_at[gte]": gte } = query;
  const { "created_at[lt]": lt, "created_at[lte]": lte } = query;
  return {
    ...(gt === undefined ? {} : { gt }),
    ...(gte === undefined ? {} : { gte }),
    ...(lt === undefined ? {} : { lt }),
    ...(lte === undefined ? {} : { lte }),
  };
}

function positionOf(
  cursor: Cursor | undefined,
  createdAt: CreatedAt = {},
): PagePosition | undefined {
  if (cursor === undefined) return undefined;
  const [created_at, id] = cursor.position;
  if (created_at === undefined || id === undefined) {
    throw new Error("a sealed cursor has another form");
  }
  assertWithin(created_at, createdAt);
  return { created_at, id };
}

/** Rejects a cursor at this time, or at a place without one, if the filter leaves it out. */
export function assertWithin(time: string | undefined, createdAt: CreatedAt): void {
  if (time === undefined || !isWithin(time, createdAt)) {
    throw new InvalidRequestError("page: the cursor lies outside the created_at filter");
  }
}

/** Times with milliseconds in UTC compare as text. */
function isWithin(time: string, { gt, gte, lt, lte }: CreatedAt): boolean {
  return (
    (gt === undefined || time > gt) &&
    (gte === undefined || time >= gte) &&
    (lt === undefined || time < lt) &&
    (lte === undefined || time <= lte)
  );
}

function opposite(order: Order): Order {
  return order === "asc" ? "desc" : "asc";
}
