import { type Query, sql } from "../sql.ts";

/** The number of the lock by which a server shows that it lives, as an expression of its holder's name. */
export function holderLock(holder: Query): Query {
  return sql`hashtextextended('drover holder ' || ${holder}, 0)`;
}
