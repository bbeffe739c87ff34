import type { Database, Statement } from "better-sqlite3";
import type { Query, SqlRunner, SqlValue } from "../sql.ts";

/** Prepared statements kept of those that are composed at run time. */
const COMPOSED_STATEMENTS = 500;

/** Runs statements on one connection, each at once, within the call. */
export class SqliteRunner implements SqlRunner {
  readonly #database: Database;
  readonly #onError: (error: unknown) => void;
  /** By the identity of a template's strings: no text is built on the hot path. */
  readonly #fixed = new WeakMap<readonly string[], Statement<SqlValue[]>>();
  readonly #composed = new Map<string, Statement<SqlValue[]>>();
  #load = 0;

  constructor(database: Database, onError: (error: unknown) => void = () => undefined) {
    this.#database = database;
    this.#onError = onError;
  }

  async all<Row>(query: Query): Promise<readonly Row[]> {
    try {
      return this.run<Row>(query);
    } catch (error) {
      this.#onError(error);
      throw error;
    }
  }

  async get<Row>(query: Query): Promise<Row | undefined> {
    try {
      return this.run<Row>(query)[0];
    } catch (error) {
      this.#onError(error);
      throw error;
    }
  }

  /** Characters bound since the last `resetLoad`. */
  load(): number {
    return this.#load;
  }

  resetLoad(): void {
    this.#load = 0;
  }

  /** As `all`, for callers that cannot wait. */
  run<Row>(query: Query): readonly Row[] {
    const statement = this.#statement(query.parts);
    for (const value of query.values) if (typeof value === "string") this.#load += value.length;
    if (statement.reader) return statement.all(...query.values) as readonly Row[];
    statement.run(...query.values);
    return [];
  }

  #statement(parts: readonly string[]): Statement<SqlValue[]> {
    const fixed = this.#fixed.get(parts);
    if (fixed !== undefined) return fixed;
    const text = parts.join("?");
    if ("raw" in parts) {
      const statement = this.#database.prepare<SqlValue[]>(text);
      this.#fixed.set(parts, statement);
      return statement;
    }
    const statement = this.#composed.get(text) ?? this.#database.prepare<SqlValue[]>(text);
    this.#composed.delete(text);
    this.#composed.set(text, statement);
    const oldest = this.#composed.keys().next().value;
    if (this.#composed.size > COMPOSED_STATEMENTS && oldest !== undefined) {
      this.#composed.delete(oldest);
    }
    return statement;
  }
}
