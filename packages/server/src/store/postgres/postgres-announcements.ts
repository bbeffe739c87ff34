import { randomUUID } from "node:crypto";
import type {
  Announcement,
  AnnouncementListener,
  Announcements,
} from "../../core/ports/announcements.ts";
import { LocalAnnouncements } from "../local-announcements.ts";
import { sql } from "../sql.ts";
import { holderLock } from "./holder-lock.ts";
import { merged, payloadsOf, readPayload } from "./notify-payloads.ts";
import { PostgresConnection } from "./postgres-connection.ts";
import { unavailable } from "./postgres-errors.ts";

const CHANNEL = "drover";
/** Announcements that may wait to be sent; what comes on top is lost, and everybody told to look. */
const WAITING_MAX = 10_000;
/** Milliseconds between two looks at the connection, and the longest between two tries to make it. */
const HEARTBEAT_MS = 5_000;
const FIRST_PAUSE_MS = 100;
/** Has PostgreSQL find out within some ten seconds that this machine is gone, and free the lock. */
const KEEPALIVE =
  "set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3";
/** However well all goes, so many heartbeats apart everybody looks for itself. */
const LOOK_HEARTBEATS = 12;

export interface PostgresAnnouncementsOptions {
  readonly url: string;
  /** Who holds this server's leases: as long as the connection lives, others can tell that it does. */
  readonly holder: string;
  /** Is told what a listener threw. */
  readonly onError: (error: unknown) => void;
}

/**
 * Announcements between the servers of one database, by `NOTIFY`: one for all that a server has to say
 * at a tick. What this server says is heard in it at once. After any break everybody is told to look
 * again, so that one that is lost costs time and nothing else.
 */
export class PostgresAnnouncements implements Announcements {
  readonly #local: LocalAnnouncements;
  readonly #connection: PostgresConnection;
  readonly #holder: string;
  readonly #id = randomUUID();
  readonly #stop = new AbortController();
  /** By session, in the order of its first; the other sessions' order says nothing. */
  #waiting: Announcement[] = [];
  /** Where the last one of each session waits. */
  readonly #lastOf = new Map<string, number>();
  #isScheduled = false;
  #hasLost = false;
  #isHolding = false;
  #loop: Promise<void> | undefined;
  #lookNow: () => void = () => undefined;

  private constructor({ url, holder, onError }: PostgresAnnouncementsOptions) {
    this.#local = new LocalAnnouncements(onError);
    this.#holder = holder;
    this.#connection = new PostgresConnection(url, {
      onConnect: (connection) => this.#greet(connection),
      onNotification: (payload) => this.#hear(payload),
      onLost: () => {
        this.#isHolding = false;
        this.#lookNow();
      },
    });
  }

  /** Resolves once it hears, and holds the lock by which others tell that it lives. */
  static async open(options: PostgresAnnouncementsOptions): Promise<PostgresAnnouncements> {
    const announcements = new PostgresAnnouncements(options);
    await announcements.#connection.connect().catch((error: unknown) => {
      throw unavailable(error) ?? error;
    });
    announcements.#loop = announcements.#keepConnected();
    return announcements;
  }

  publish(announcement: Announcement): void {
    this.#local.publish(announcement);
    this.#enqueue(announcement);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#flush();
    });
  }

  subscribe(sessionId: string, listener: AnnouncementListener): () => void {
    return this.#local.subscribe(sessionId, listener);
  }

  subscribeDue(listener: AnnouncementListener): () => void {
    return this.#local.subscribeDue(listener);
  }

  /** Says what was still to be said. */
  async close(): Promise<void> {
    this.#flush();
    this.#stop.abort();
    this.#lookNow();
    await this.#loop;
    await this.#connection.close();
  }

  #enqueue(announcement: Announcement): void {
    if (announcement.type === "missed" || this.#waiting.length >= WAITING_MAX) {
      this.#hasLost = true;
      return;
    }
    const at = this.#lastOf.get(announcement.sessionId);
    const earlier = at === undefined ? undefined : this.#waiting[at];
    const both = earlier && merged(earlier, announcement);
    if (at !== undefined && both !== undefined) {
      this.#waiting[at] = both;
      return;
    }
    this.#lastOf.set(announcement.sessionId, this.#waiting.length);
    this.#waiting.push(announcement);
  }

  #flush(): void {
    if (!this.#connection.isConnected) {
      this.#hasLost ||= this.#waiting.some(({ type }) => type === "changed");
      this.#forget();
      return;
    }
    const all: readonly Announcement[] = this.#hasLost
      ? [...this.#waiting, { type: "missed" }]
      : this.#waiting;
    this.#hasLost = false;
    for (const payload of payloadsOf(this.#id, all)) this.#send(payload);
    this.#forget();
  }

  #forget(): void {
    this.#waiting = [];
    this.#lastOf.clear();
  }

  #send(payload: string): void {
    this.#connection.rows(sql`select pg_notify(${CHANNEL}, ${payload})`).catch(() => {
      this.#hasLost = true;
    });
  }

  #hear(payload: string): void {
    const heard = readPayload(payload);
    if (heard === undefined || heard.from === this.#id) return;
    for (const announcement of heard.list) this.#local.publish(announcement);
  }

  /** What a new connection is told before anything else. */
  async #greet(connection: PostgresConnection): Promise<void> {
    await connection.run(`set synchronous_commit = off; ${KEEPALIVE}; listen ${CHANNEL}`);
    await this.#hold(connection);
  }

  /** An earlier connection of this server may still have the lock; then it is asked for again later. */
  async #hold(connection: PostgresConnection): Promise<void> {
    const [row] = await connection.rows<{ held: boolean }>(
      sql`select pg_try_advisory_lock(${holderLock(sql`cast(${this.#holder} as text)`)}) as held`,
    );
    this.#isHolding = row?.held === true;
  }

  async #keepConnected(): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS;
    for (let beat = 1; !this.#stop.signal.aborted; beat += 1) {
      try {
        await this.#check();
        if (beat % LOOK_HEARTBEATS === 0) this.#local.publish({ type: "missed" });
        pauseMs = HEARTBEAT_MS;
      } catch {
        this.#connection.drop();
        pauseMs = pauseMs === HEARTBEAT_MS ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, HEARTBEAT_MS);
      }
      await this.#pause(pauseMs);
    }
  }

  async #check(): Promise<void> {
    if (!this.#connection.isConnected) {
      await this.#connection.connect();
      // Whatever others said in between was not heard here, and the other way round.
      this.#local.publish({ type: "missed" });
      this.#flush();
    } else if (this.#isHolding) await this.#connection.run("select 1");
    else await this.#hold(this.#connection);
  }

  /** Ends at once when there is something to look at. */
  async #pause(ms: number): Promise<void> {
    if (this.#stop.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#lookNow = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
