import { SessionHandPassParams } from "@drover/api";
import { Hono } from "hono";
import { getHand, passHand } from "../../app/sessions-hand.ts";
import type { Store } from "../../core/ports/store.ts";
import { readJson } from "../body.ts";
import type { AppEnv } from "../context.ts";
import { sessionKey } from "../keys.ts";
import type { Write } from "../once.ts";
import { refuseQuery } from "../parse.ts";

interface Options {
  readonly store: Store;
  readonly write: Write;
}

/** Sandboxes as things that sessions have: Drover's own, beyond the contract. */
export function sessionHandRoutes({ store, write }: Options): Hono<AppEnv> {
  return new Hono<AppEnv>()
    .get("/v1/drover/sessions/:session_id/hand", async (c) => {
      refuseQuery(c);
      return c.json(await getHand(store, sessionKey(c)));
    })
    .post("/v1/drover/sessions/:session_id/hand/pass", async (c) => {
      refuseQuery(c);
      const { value, bytes } = await readJson(c, SessionHandPassParams);
      return await write(c, (tx) => passHand(tx, sessionKey(c), value), bytes);
    });
}
