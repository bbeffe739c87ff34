import { describeProblems, queryRecord } from "@drover/api";
import { z } from "zod";
import { InvalidRequestError } from "../core/errors.ts";
import type { AppContext } from "./context.ts";

const NO_PARAMETERS = z.strictObject({});

/** The value as the schema's type, or a 400 that names each problem with its place. */
export function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (!result.success) throw new InvalidRequestError(describeProblems(result.error));
  return result.data;
}

/** The query as the schema's type; parameters that it does not know are refused by name. */
export function parseQuery<T>(c: AppContext, schema: z.ZodType<T>): T {
  const values = queryRecord(new URL(c.req.url).searchParams);
  const result = schema.safeParse(values);
  if (!result.success) {
    throw new InvalidRequestError(`query: ${describeProblems(result.error)}`);
  }
  return result.data;
}

/** For endpoints without parameters. */
export function refuseQuery(c: AppContext): void {
  parseQuery(c, NO_PARAMETERS);
}
