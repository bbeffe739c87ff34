import { SessionForkParams } from "@drover/api";
import { Hono } from "hono";
import { type ForkOptions, forkSession } from "../../app/sessions-fork.ts";
import { readJson } from "../body.ts";
import type { AppEnv } from "../context.ts";
import { sessionKey } from "../keys.ts";
import type { Write } from "../once.ts";
import { refuseQuery } from "../parse.ts";

interface Options extends ForkOptions {
  readonly write: Write;
}

/** Sessions made from others: Drover's own, beyond the contract. */
export function sessionCopyRoutes(options: Options): Hono<AppEnv> {
  const { write } = options;
  return new Hono<AppEnv>().post("/v1/drover/sessions/:session_id/fork", async (c) => {
    refuseQuery(c);
    const { value, bytes } = await readJson(c, SessionForkParams);
    const request = { key: sessionKey(c), params: value };
    return await forkSession(options, request, (effect) => write(c, effect, bytes));
  });
}
