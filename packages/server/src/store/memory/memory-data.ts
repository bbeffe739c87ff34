import type { Checkpoint } from "../../core/ports/event-log.ts";
import type {
  AgentRecord,
  AnsweredRequest,
  ApiKeyRecord,
  EnvironmentRecord,
  FileRecord,
  LooseBlob,
} from "../../core/ports/records.ts";
import type { PageRequest, SessionRecord } from "../../core/ports/sessions.ts";
import type { InboxEvent, LogEvent } from "../../core/session/log-event.ts";
import { canonical, type TimeBounds } from "../queries/pages.ts";
import type { Touched } from "../touched.ts";
import { Journal, Table } from "./journal.ts";

/** A session's row with what only the store knows. */
export interface SessionState extends SessionRecord {
  readonly last_processed_at: string;
  readonly last_arrival: number;
  readonly wake_at: string | null;
  readonly woken: boolean;
  readonly lease_holder: string | null;
  readonly lease_expires_at: string | null;
  readonly epoch: number;
  readonly claims: number;
  readonly hand_disposed: boolean;
  /** Grows; the journal cuts it back. */
  readonly events: SizedEvent[];
  readonly inbox: readonly InboxEvent[];
  readonly checkpoint: Checkpoint | undefined;
}

export interface SizedEvent {
  readonly event: LogEvent;
  readonly size: number;
}

/** Everything that is stored. */
export class MemoryData {
  readonly journal = new Journal();
  readonly sessions = new Table<SessionState>(this.journal);
  readonly eventIds = new Table<number>(this.journal);
  readonly agents = new Table<AgentRecord>(this.journal);
  readonly agentVersions = new Table<AgentRecord>(this.journal);
  readonly environments = new Table<EnvironmentRecord>(this.journal);
  readonly files = new Table<FileRecord>(this.journal);
  readonly looseBlobs = new Table<LooseBlob>(this.journal);
  readonly apiKeys = new Table<ApiKeyRecord>(this.journal);
  readonly answeredRequests = new Table<AnsweredRequest>(this.journal);
}

/** What the parts of one transaction share. */
export interface MemoryTransaction {
  /** Throws once the work has ended. */
  data(): MemoryData;
  /** RFC 3339 with milliseconds. */
  readonly now: string;
  readonly touched: Touched;
}

/** Where to read from: the data at a time when no write is half done. */
export type MemorySource = () => Promise<MemoryData>;

/** What the value would come back as from a database, so that nothing else can change it. */
export function stored<T>(value: T): T {
  const copy: T = JSON.parse(JSON.stringify(value));
  return frozen(copy);
}

function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const child of Object.values(value)) frozen(child);
    Object.freeze(value);
  }
  return value;
}

interface Positioned {
  readonly created_at: string;
  readonly id: string;
}

/** The page's rows, by (created_at, id). */
export function pageOf<Row extends Positioned>(
  rows: readonly Row[],
  { limit, order, after }: PageRequest,
): readonly Row[] {
  const sign = order === "asc" ? 1 : -1;
  return rows
    .filter((row) => after === undefined || sign * compare(row, after) > 0)
    .sort((a, b) => sign * compare(a, b))
    .slice(0, limit);
}

function compare(a: Positioned, b: Positioned): number {
  return compareText(a.created_at, b.created_at) || compareText(a.id, b.id);
}

export function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

export function isWithin(time: string, { gt, gte, lt, lte }: TimeBounds = {}): boolean {
  return (
    (gt === undefined || time > canonical(gt)) &&
    (gte === undefined || time >= canonical(gte)) &&
    (lt === undefined || time < canonical(lt)) &&
    (lte === undefined || time <= canonical(lte))
  );
}
