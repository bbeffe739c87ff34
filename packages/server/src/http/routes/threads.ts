import { EventStreamQuery, PageQuery, ThreadListQuery } from "@drover/api";
import { Hono } from "hono";
import { listEvents } from "../../app/events-list.ts";
import type { Cursors } from "../../app/pagination.ts";
import { openStream } from "../../app/streams.ts";
import type { StreamReaders } from "../../app/streams-readers.ts";
import type { SharedReads } from "../../app/streams-reads.ts";
import { archiveThread, getThread, listThreads } from "../../app/threads.ts";
import type { Announcements } from "../../core/ports/announcements.ts";
import type { Store } from "../../core/ports/store.ts";
import { readEmpty } from "../body.ts";
import type { AppEnv } from "../context.ts";
import { sessionKey } from "../keys.ts";
import { parseQuery, refuseQuery } from "../parse.ts";
import type { Streams } from "../sse.ts";

interface Options {
  readonly store: Store;
  readonly announcements: Announcements;
  readonly reads: SharedReads;
  readonly readers: StreamReaders;
  readonly cursors: Cursors;
  readonly streams: Streams;
  /** RFC 3339 with milliseconds. */
  readonly now: () => string;
}

export function threadRoutes(options: Options): Hono<AppEnv> {
  const { store, streams, now } = options;
  return new Hono<AppEnv>()
    .get("/v1/sessions/:session_id/threads", async (c) => {
      const query = parseQuery(c, ThreadListQuery);
      return c.json(await listThreads(store, { key: sessionKey(c), query, now: now() }));
    })
    .get("/v1/sessions/:session_id/threads/:thread_id", async (c) => {
      refuseQuery(c);
      const threadId = c.req.param("thread_id");
      return c.json(await getThread(store, { key: sessionKey(c), threadId, now: now() }));
    })
    .post("/v1/sessions/:session_id/threads/:thread_id/archive", async (c) => {
      refuseQuery(c);
      await readEmpty(c);
      const threadId = c.req.param("thread_id");
      return c.json(await archiveThread(store, { key: sessionKey(c), threadId, now: now() }));
    })
    .get("/v1/sessions/:session_id/threads/:thread_id/events", async (c) => {
      const query = parseQuery(c, PageQuery);
      const threadId = c.req.param("thread_id");
      return c.json(await listEvents(options, { key: sessionKey(c), threadId, query }));
    })
    .get("/v1/sessions/:session_id/threads/:thread_id/stream", async (c) => {
      const previews = new Set(parseQuery(c, EventStreamQuery).event_deltas);
      const request = { key: sessionKey(c), threadId: c.req.param("thread_id"), previews };
      return await streams.respond(c, (wake) => openStream(options, request, wake));
    });
}
