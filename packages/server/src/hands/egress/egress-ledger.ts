import type { EgressRecord } from "../../core/ports/hands.ts";

export type Decision = Pick<EgressRecord, "host" | "port" | "verdict" | "reason">;
type Counts = Pick<EgressRecord, "connections" | "bytes_up" | "bytes_down" | "ms">;

/** How much has gone over a connection since it was made. */
export type Progress = () => { readonly up: number; readonly down: number };

/** Kinds of decisions that are told apart until they are taken; a program may make up names for ever. */
const KINDS_MAX = 200;

interface OpenConnection {
  readonly decision: Decision;
  readonly progress: Progress;
  told: { readonly up: number; readonly down: number };
}

/** What one sandbox's way out has decided and let through, summed up by host, port and verdict. */
export class EgressLedger {
  readonly #now: () => number;
  readonly #records = new Map<string, EgressRecord>();
  readonly #open = new Set<OpenConnection>();

  /** `now` in milliseconds, of a clock that never goes back. */
  constructor(now: () => number) {
    this.#now = now;
  }

  count(decision: Decision): void {
    this.#add(decision, { connections: decision.port === null ? 0 : 1 });
  }

  /** A connection that was made; the function that is returned tells its end. */
  connected(host: string, port: number, progress: Progress): () => void {
    const decision = { host, port, verdict: "allowed", reason: null } as const;
    const connection = { decision, progress, told: { up: 0, down: 0 } };
    const begun = this.#now();
    this.#open.add(connection);
    this.#add(decision, { connections: 1 });
    return () => {
      if (!this.#open.delete(connection)) return;
      this.#tell(connection);
      this.#add(decision, { ms: Math.round(this.#now() - begun) });
    };
  }

  /** Everything since the last time, in the order in which it came up first. */
  take(): readonly EgressRecord[] {
    for (const connection of this.#open) this.#tell(connection);
    const records = [...this.#records.values()];
    this.#records.clear();
    return records;
  }

  #tell(connection: OpenConnection): void {
    const { up, down } = connection.progress();
    const { told } = connection;
    connection.told = { up, down };
    if (up === told.up && down === told.down) return;
    this.#add(connection.decision, { bytes_up: up - told.up, bytes_down: down - told.down });
  }

  #add(decision: Decision, more: Partial<Counts>): void {
    const { host, port, verdict, reason } = decision;
    const key = JSON.stringify([host, port, verdict, reason]);
    if (!this.#records.has(key) && this.#records.size >= KINDS_MAX && host !== "*") {
      this.#add({ host: "*", port: null, verdict, reason: "too many to be told apart" }, more);
      return;
    }
    const before = this.#records.get(key) ?? { ...decision, ...NOTHING };
    this.#records.set(key, {
      ...before,
      connections: before.connections + (more.connections ?? 0),
      bytes_up: before.bytes_up + (more.bytes_up ?? 0),
      bytes_down: before.bytes_down + (more.bytes_down ?? 0),
      ms: before.ms + (more.ms ?? 0),
    });
  }
}

const NOTHING: Counts = { connections: 0, bytes_up: 0, bytes_down: 0, ms: 0 };
