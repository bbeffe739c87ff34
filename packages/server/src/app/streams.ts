import { NotFoundError, StoreUnavailableError } from "../core/errors.ts";
import type { Announcements } from "../core/ports/announcements.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { Store } from "../core/ports/store.ts";
import { SessionFeed } from "./streams-feed.ts";
import { PreviewBuffer, type PreviewType } from "./streams-previews.ts";
import type { StreamReaders } from "./streams-readers.ts";
import type { SharedReads } from "./streams-reads.ts";

/** A client may send first and open its stream this much later, and misses nothing of the answer. */
const LATE_MS = 60_000;

export interface StreamDeps {
  readonly store: Store;
  readonly announcements: Announcements;
  readonly reads: SharedReads;
  readonly readers: StreamReaders;
}

export interface StreamRequest {
  readonly key: SessionKey;
  /** Set for a thread's own stream. */
  readonly threadId?: string | undefined;
  /** What the reader wants to see in the making. */
  readonly previews: ReadonlySet<PreviewType>;
}

export interface OpenStream {
  readonly feed: SessionFeed;
  close(): void;
}

/**
 * Attaches a reader to a session: everything committed from when this resolves on reaches the feed.
 * `wake` is called whenever there may be something to pull. Rejects with `NotFoundError`.
 */
export async function openStream(
  { store, announcements, reads, readers }: StreamDeps,
  request: StreamRequest,
  wake: () => void,
): Promise<OpenStream> {
  const { key, threadId } = request;
  let feed: SessionFeed | undefined;
  let hasMissed = false;
  // First of all, so that nothing falls between looking and listening.
  const unsubscribe = announcements.subscribe(key.sessionId, (announcement) => {
    if (feed === undefined) hasMissed = true;
    else feed.hear(announcement);
    wake();
  });
  const detach = readers.attach(key.sessionId);
  const close = () => {
    unsubscribe();
    detach();
  };
  try {
    const inbox = await store.events.getInbox(key);
    const session = await getLiveSession(store, key, threadId);
    feed = new SessionFeed(
      { store, reads, attend: (time) => attend(store, key, time) },
      {
        key,
        threadId,
        previewThreadId: threadId ?? session.thread_id,
        after: await attach(store, key, session),
        attachedAt: session.last_seq,
        inbox,
      },
      new PreviewBuffer(request.previews),
    );
    if (hasMissed) feed.recheck();
    return { feed, close };
  } catch (error) {
    close();
    throw error;
  }
}

async function getLiveSession(
  store: Store,
  key: SessionKey,
  threadId: string | undefined,
): Promise<SessionRecord> {
  const session = await store.sessions.find(key);
  if (session === undefined || session.deleted_at !== null) {
    throw new NotFoundError(`there is no session ${key.sessionId}`);
  }
  if (threadId !== undefined && threadId !== session.thread_id) {
    throw new NotFoundError(`session ${key.sessionId} has no thread ${threadId}`);
  }
  return session;
}

/** The `seq` after which the stream starts: now, or where input began that nobody has watched yet. */
async function attach(store: Store, key: SessionKey, session: SessionRecord): Promise<number> {
  // Most readers come before their input; they cost no write.
  if (session.input_seq === null) return session.last_seq;
  try {
    const inputSeq = await store.writeUnsynced((tx) => tx.sessions.attachStream(key, LATE_MS));
    return Math.min(inputSeq ?? session.last_seq, session.last_seq);
  } catch (error) {
    // Reading goes on while nothing can be written; such a stream is live only.
    if (error instanceof StoreUnavailableError) return session.last_seq;
    throw error;
  }
}

/**
 * Whoever reads along sees input come, on whichever server it was sent to: a stream that is opened later
 * is not to show it again. Input that was sent to this server is known as watched already.
 */
async function attend(store: Store, key: SessionKey, time: string): Promise<void> {
  const session = await store.sessions.find(key);
  if (session === undefined || session.input_seq === null) return;
  try {
    await store.writeUnsynced((tx) => tx.sessions.attendInput(key, time));
  } catch (error) {
    // Reading goes on while nothing can be written.
    if (!(error instanceof StoreUnavailableError)) throw error;
  }
}
