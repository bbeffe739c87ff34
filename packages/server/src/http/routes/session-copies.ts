import { SessionForkParams, SessionImportQuery, SessionReplayParams } from "@drover/api";
import { Hono } from "hono";
import { exportSession } from "../../app/sessions-export.ts";
import { type ForkOptions, forkSession } from "../../app/sessions-fork.ts";
import { type ImportOptions, importSession } from "../../app/sessions-import.ts";
import { type ReplayOptions, replaySession } from "../../app/sessions-replay.ts";
import type { Blobs } from "../../core/ports/blobs.ts";
import type { Clock } from "../../core/ports/clock.ts";
import { readJson } from "../body.ts";
import type { AppEnv } from "../context.ts";
import { respondWithBytes } from "../download.ts";
import { sessionKey } from "../keys.ts";
import type { Write } from "../once.ts";
import { parseQuery, refuseQuery } from "../parse.ts";
import { Replays } from "../replays.ts";
import { chunksOf } from "../source.ts";

interface Options extends ForkOptions, ImportOptions, ReplayOptions {
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly shutdown: AbortSignal;
  readonly write: Write;
}

/** Sessions made from others: Drover's own, beyond the contract. */
export function sessionCopyRoutes(options: Options): Hono<AppEnv> {
  const { write } = options;
  const replays = new Replays(options.shutdown);
  return new Hono<AppEnv>()
    .post("/v1/drover/sessions/import", async (c) => {
      const query = parseQuery(c, SessionImportQuery);
      const { workspaceId, keyId } = c.get("principal");
      const request = { workspaceId, keyId, query, content: chunksOf(c) };
      return await importSession(options, request, (effect, body) => write(c, effect, body));
    })
    .post("/v1/drover/sessions/:session_id/fork", async (c) => {
      refuseQuery(c);
      const { value, bytes } = await readJson(c, SessionForkParams);
      const { keyId } = c.get("principal");
      const request = { key: sessionKey(c), keyId, params: value };
      return await forkSession(options, request, (effect) => write(c, effect, bytes));
    })
    .post("/v1/drover/sessions/:session_id/replay", async (c) => {
      refuseQuery(c);
      const { value } = await readJson(c, SessionReplayParams);
      return await replays.respond(c, (signal) =>
        replaySession(options, { key: sessionKey(c), params: value }, signal),
      );
    })
    .get("/v1/drover/sessions/:session_id/export", async (c) => {
      refuseQuery(c);
      const { filename, bytes } = await exportSession(options, sessionKey(c));
      const download = { filename, mime_type: "application/jsonl", size_bytes: undefined, bytes };
      return await respondWithBytes(c, download);
    });
}
