import { EventListQuery, EventSendParams, EventStreamQuery } from "@drover/api";
import { Hono } from "hono";
import { sendEvents } from "../../app/events.ts";
import { listEvents } from "../../app/events-list.ts";
import type { Cursors } from "../../app/pagination.ts";
import { openStream } from "../../app/streams.ts";
import type { StreamReaders } from "../../app/streams-readers.ts";
import type { SharedReads } from "../../app/streams-reads.ts";
import type { FindModel } from "../../core/models/offered-models.ts";
import type { Announcements } from "../../core/ports/announcements.ts";
import type { Store } from "../../core/ports/store.ts";
import { readJson } from "../body.ts";
import type { AppEnv } from "../context.ts";
import { sessionKey } from "../keys.ts";
import type { Write } from "../once.ts";
import { parseQuery, refuseQuery } from "../parse.ts";
import type { Streams } from "../sse.ts";

interface Options {
  readonly store: Store;
  readonly announcements: Announcements;
  readonly reads: SharedReads;
  readonly readers: StreamReaders;
  readonly cursors: Cursors;
  readonly write: Write;
  readonly streams: Streams;
  readonly findModel: FindModel;
}

export function eventRoutes(options: Options): Hono<AppEnv> {
  const { write, streams, findModel } = options;
  return new Hono<AppEnv>()
    .post("/v1/sessions/:session_id/events", async (c) => {
      refuseQuery(c);
      const { value, bytes } = await readJson(c, EventSendParams);
      const key = sessionKey(c);
      const isWatched = options.readers.has(key.sessionId);
      return await write(c, (tx) => sendEvents(tx, key, { ...value, isWatched, findModel }), bytes);
    })
    .get("/v1/sessions/:session_id/events", async (c) => {
      const query = parseQuery(c, EventListQuery);
      return c.json(await listEvents(options, { key: sessionKey(c), query }));
    })
    .get("/v1/sessions/:session_id/events/stream", async (c) => {
      const previews = new Set(parseQuery(c, EventStreamQuery).event_deltas);
      const request = { key: sessionKey(c), previews };
      return await streams.respond(c, (wake) => openStream(options, request, wake));
    });
}
