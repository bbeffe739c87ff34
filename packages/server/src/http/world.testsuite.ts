import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KeyRole } from "@drover/api";
import { onTestFinished } from "vitest";
import { createCredentialBroker } from "../app/credential-broker.ts";
import type { InstalledSkill } from "../app/installed-skills.ts";
import { createModels } from "../app/models.ts";
import { createCursors } from "../app/pagination.ts";
import { createGrants } from "../app/session-grants.ts";
import type { Announcement, Announcements } from "../core/ports/announcements.ts";
import type { Egress } from "../core/ports/egress.ts";
import type { FileRecord } from "../core/ports/records.ts";
import type { Store } from "../core/ports/store.ts";
import { NO_PRICES } from "../core/pricing/price-list.ts";
import type { EventDraft, InboxEvent } from "../core/session/log-event.ts";
import { EgressPolicy } from "../egress/egress-policy.ts";
import { GuardedEgress } from "../egress/guarded-egress.ts";
import { newId } from "../lib/new-id.ts";
import { Secret } from "../lib/secret.ts";
import { systemClock } from "../lib/system-clock.ts";
import { LocalAnnouncements } from "../store/local-announcements.ts";
import { LocalBlobs } from "../store/local-blobs.ts";
import {
  type MemoryStoreOptions,
  openMemoryStore,
} from "../store/sqlite/memory-store.testsuite.ts";
import { inProcessCarrier, inProcessTrials } from "../testing/in-process-trials.ts";
import { createEnvelopeBox } from "../vault/envelope-box.ts";
import { givenKeys } from "../vault/given-keys.ts";
import { type AppDeps, createApp } from "./app.ts";
import { listen } from "./listen.ts";
import type { StreamLimits } from "./sse.ts";

/** It judges calls, and every other model has a price. */
export const UNPRICED_MODEL = "of-unknown-price";
const PRICES = { input: 1, output: 5, cache_read: 1, cache_write_5m: 1, cache_write_1h: 2 };

export type World = Awaited<ReturnType<typeof openWorld>>;

/** Whatever a response may hold, under the names that tests look at. */
export interface Body {
  readonly id: string;
  readonly type: string;
  readonly status: string;
  readonly system: string | null;
  readonly archived_at: string | null;
  readonly budget: unknown;
  readonly expires_at: string | null;
  readonly processed_at: string | null;
  readonly file_id: string;
  readonly agent: Body;
  readonly multiagent: Body | null;
  readonly tools: readonly Body[];
  readonly resources: readonly Body[];
  readonly data: readonly Body[];
  readonly next_page: string | null;
  readonly prev_page: string | null;
  readonly request_id: string;
  readonly error: { readonly type: string; readonly message: string; readonly details?: unknown };
}

/** The way to servers of others, and to these. Names are not known. */
export function egressTo(allow: readonly string[]): Egress {
  return new GuardedEgress({
    policy: new EgressPolicy({ allow, ownAddresses: () => [] }),
    resolve: (host) => Promise.reject(new Error(`${host} is not known`)),
  });
}

/** The whole API on a store in memory and blobs in a folder, with one workspace and a key to it. */
export async function openWorld({
  now = Date.now,
  openStore,
  egress = egressTo([]),
  ...options
}: {
  streamLimits?: Partial<StreamLimits>;
  installedSkills?: readonly InstalledSkill[];
  filesBytesMax?: number;
  networkSetting?: "environment" | "none";
  sandboxBase?: AppDeps["sandboxBase"];
  providers?: AppDeps["providers"];
  secretManagers?: AppDeps["secretManagers"];
  secretCarrier?: AppDeps["secretCarrier"];
  egress?: Egress;
  askModel?: AppDeps["askModel"];
  checkpoints?: AppDeps["checkpoints"];
  now?: () => number;
  /** Instead of the store in memory. */
  openStore?: (options: MemoryStoreOptions & { dataFolder: string }) => Store;
} = {}) {
  const dataFolder = mkdtempSync(join(tmpdir(), "drover-http-"));
  const thrown: unknown[] = [];
  const announcements = new LocalAnnouncements((error) => thrown.push(error));
  const clock = { ...systemClock, now };
  let isMuted = false;
  const storeOptions = {
    clock,
    announcements: {
      publish: (announcement: Announcement) => {
        if (!isMuted) announcements.publish(announcement);
      },
    },
  };
  const memory = openMemoryStore(storeOptions);
  const store = openStore?.({ ...storeOptions, dataFolder }) ?? memory;
  const shutdown = new AbortController();
  let subscriptions = 0;
  const counted: Announcements = {
    publish: (announcement) => announcements.publish(announcement),
    subscribeDue: (listener) => announcements.subscribeDue(listener),
    subscribe: (sessionId, listener) => {
      const stop = announcements.subscribe(sessionId, listener);
      subscriptions += 1;
      return () => {
        subscriptions -= 1;
        stop();
      };
    },
  };
  const logged: { fields: Readonly<Record<string, unknown>>; message: string }[] = [];
  let deletions = 0;
  const blobs = await LocalBlobs.open(join(dataFolder, "blobs"));
  const encryptionKey = new Secret(randomBytes(32).toString("base64"));
  const secretBox = createEnvelopeBox(givenKeys([encryptionKey], "the test"));
  const record = (fields: Readonly<Record<string, unknown>>, message: string) =>
    void logged.push({ fields, message });
  const grants = createGrants(randomBytes(32));
  const broker = createCredentialBroker({ store, grants, newId });
  const app = createApp({
    store,
    announcements: counted,
    secretBox,
    grants,
    secretCarrier: inProcessCarrier(secretBox),
    credentialTrials: inProcessTrials({ egress, secretBox, clock, broker }),
    cursors: createCursors({ key: randomBytes(32) }),
    clock,
    log: { error: record, warn: record },
    shutdown: shutdown.signal,
    blobs,
    models: createModels([]),
    prices: {
      ...NO_PRICES,
      tokens: ({ id }) => (id === UNPRICED_MODEL ? undefined : PRICES),
      judge: { id: UNPRICED_MODEL },
    },
    checkpoints: { take: async () => ({ type: "unavailable", message: "there are no hands" }) },
    askModel: async () => ({
      type: "failure",
      kind: "connection",
      message: "there is no model",
      retryable: false,
    }),
    findModel: () => undefined,
    installedSkills: [],
    scratchFolder: join(dataFolder, "scratch"),
    wakeDisposer: () => {
      deletions += 1;
    },
    ...options,
  });
  onTestFinished(async () => {
    shutdown.abort();
    await store.close();
    rmSync(dataFolder, { recursive: true });
  });

  const addKey = async (role: KeyRole, workspaceId = newId("wrkspc")) => {
    const key = newId("sk-test");
    await store.write(async (tx) => {
      await tx.workspaces.insert({ id: workspaceId, name: "test", created_at: tx.now });
      await tx.apiKeys.insert({
        workspace_id: workspaceId,
        id: newId("apikey"),
        name: "test",
        role,
        key_sha256: createHash("sha256").update(key).digest("hex"),
        created_at: tx.now,
        revoked_at: null,
      });
    });
    return { key, workspaceId };
  };
  const { key, workspaceId } = await addKey("admin");

  const request = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ) => {
    const response = await app.request(path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Body;
    return { status: response.status, headers: response.headers, body: answer };
  };

  return {
    app,
    store,
    announcements,
    shutdown,
    /** Makes writes fail as a full disk does; undefined ends it. */
    failWrites: (sentence: string | undefined) => memory.failWrites(sentence),
    /** From now on nobody hears of what is committed. */
    mute: () => {
      isMuted = true;
    },
    /** How many streams listen now. */
    subscriptions: () => subscriptions,
    logged,
    /** How often the disposer was woken. */
    wakeUps: () => deletions,
    /** The hashes of what is to be looked at later. */
    loose: async () => {
      const found = await store.write((tx) => tx.looseBlobs.list("9999-01-01T00:00:00Z", 100));
      return found.map(({ sha256 }) => sha256);
    },
    /** The hands that wait for being disposed of. */
    undisposed: async () => {
      const hands = await store.write((tx) => tx.sessions.listUndisposed({ limit: 100 }));
      return hands.map(({ handId }) => handId);
    },
    blobs,
    secretBox,
    dataFolder,
    thrown,
    key,
    workspaceId,
    addKey,
    request,
    /** A file without content, as if it had been uploaded. */
    putFile: (id: string, changes: Partial<FileRecord> = {}) =>
      store.write((tx) =>
        tx.files.insert({
          workspace_id: workspaceId,
          id,
          filename: "data.csv",
          mime_type: "text/csv",
          size_bytes: 7,
          sha256: "a".repeat(64),
          created_at: tx.now,
          expires_at: null,
          session_id: null,
          downloadable: false,
          output_path: null,
          ...changes,
        }),
      ),
    /** An agent and an environment to make sessions of. */
    prepare: async () => {
      const agent = await request("POST", "/v1/agents", { name: "scout", model: "claude-opus-5" });
      const environment = await request("POST", "/v1/environments", { name: newId("env") });
      return { agent: agent.body.id, environment_id: environment.body.id };
    },
    /** The app on a port of its own until the test ends. */
    listen: async () => {
      const listener = await listen(app, { host: "127.0.0.1", port: 0 });
      onTestFinished(async () => {
        shutdown.abort();
        await listener.close();
      });
      return listener;
    },
  };
}

/** Plays the driver: claims the session and appends under its lease. */
export async function openHarness({ store, workspaceId }: World, sessionId: string) {
  const key = { workspaceId, sessionId };
  const session = await store.sessions.find(key);
  if (session === undefined) throw new Error(`no session ${sessionId}`);
  const claims = await store.write((tx) =>
    tx.queue.claim({ holder: "test", leaseMs: null, limit: 100 }),
  );
  const epoch = claims.find((claim) => claim.sessionId === sessionId)?.epoch;
  if (epoch === undefined) throw new Error(`session ${sessionId} is not due`);
  const event = (type: string, body: object = {}, id = newId("sevt")) =>
    ({
      id,
      type,
      thread_id: session.thread_id,
      cross_posted: false,
      public: body,
      private: {},
    }) as EventDraft;
  const append = (drafts: readonly EventDraft[], status?: "idle" | "running") =>
    store.write((tx) =>
      tx.events.append({ ...key, epoch, drafts, ...(status !== undefined && { status }) }),
    );
  const takeInput = async () => {
    const inbox = await store.events.getInbox(key);
    return inbox.map(({ arrival: _arrival, accepted_at: _at, ...rest }: InboxEvent) => rest);
  };
  return {
    threadId: session.thread_id,
    event,
    append,
    /** A whole turn: takes up what waits, answers with `text`, and rests. */
    turn: async (text: string, messageId?: string) => {
      const agent_name = session.agent.name;
      const thread = { session_thread_id: session.thread_id, agent_name };
      const end = { stop_reason: { type: "end_turn" }, stop_details: null };
      await append(
        [
          event("session.status_running"),
          event("session.thread_status_running", thread),
          ...(await takeInput()),
        ],
        "running",
      );
      await append([
        said(event("agent.message", { content: [{ type: "text", text }] }, messageId), text),
        event("session.thread_status_idle", { ...thread, ...end }),
      ]);
      await append([event("session.status_idle", end)], "idle");
    },
    release: async () => {
      const seenSeq = (await store.sessions.find(key))?.last_seq ?? 0;
      await store.write((tx) => tx.queue.release({ ...key, epoch, seenSeq, wakeAt: null }));
    },
  };
}

/** With what a model's response leaves beside what is shown. */
function said(event: EventDraft, text: string): EventDraft {
  const blocks = [{ index: 0, block: { type: "text", text } }];
  return { ...event, private: { request: newId("sevt"), blocks } } as EventDraft;
}
