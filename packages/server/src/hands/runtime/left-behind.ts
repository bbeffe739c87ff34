import type { Clock } from "../../core/ports/clock.ts";
import type { Recovered } from "../../core/ports/hands.ts";
import type { ProvisionRequest, Sandbox } from "../../core/ports/sandbox.ts";
import type { HandNotes } from "../checkpoints/hand-notes.ts";
import type { HandMemories } from "../memory/hand-memories.ts";
import type { OutputCollector } from "../outputs/output-collector.ts";
import { RESULT_BYTES_MAX } from "../protocol/messages.ts";
import { Deadline } from "./deadline.ts";
import type { Report } from "./report.ts";
import type { SandboxKeeper } from "./sandbox-keeper.ts";

export interface LeftBehindOptions {
  readonly keeper: SandboxKeeper;
  readonly notes: HandNotes;
  readonly collector: Pick<OutputCollector, "collect">;
  /** The memory stores of hands; without it none is mounted. */
  readonly memory?: Pick<HandMemories, "collect"> | undefined;
  readonly clock: Clock;
  readonly report: Report;
  /** For taking one kind of it out of one sandbox, in milliseconds. */
  readonly collectMs: number;
}

/** What differs in a hand's memory stores, as a part of a result. */
export type FoundMemory = Pick<Recovered, "memory">;

/** What calls leave in their sandboxes for others: outputs, and changes of memory stores. */
export class LeftBehind {
  readonly #options: LeftBehindOptions;

  constructor(options: LeftBehindOptions) {
    this.#options = options;
  }

  /**
   * Takes what a dead sandbox of the hand has left, from inside the next one, which its next call uses: outputs into
   * the ledger, and gives what changed in memory stores. Undefined if no sandbox can be had now. Nothing is
   * taken where the files here are not of the line. Never rejects.
   */
  async recover(
    hand: ProvisionRequest,
    line: number | undefined,
  ): Promise<FoundMemory | undefined> {
    const { clock, collectMs, keeper, notes, report } = this.#options;
    if (!notes.isOf(hand.handId, line)) return {};
    using deadline = new Deadline(clock, collectMs);
    try {
      const lease = await keeper.acquire(notes.requestOf(hand), deadline.signal);
      try {
        await notes.filled(hand.handId);
        await this.collect(lease.sandbox, hand);
        return await this.memoryOf(lease.sandbox, hand, RESULT_BYTES_MAX / 2);
      } finally {
        lease.release();
      }
    } catch (error) {
      report("nothing_recovered", { hand_id: hand.handId, error });
      return undefined;
    }
  }

  /** Takes outputs into the ledger. Never rejects. */
  async collect(sandbox: Sandbox, hand: ProvisionRequest): Promise<void> {
    const { clock, collectMs, collector } = this.#options;
    using deadline = new Deadline(clock, collectMs);
    await Promise.race([collector.collect(sandbox, hand, deadline.signal), deadline.passed]);
  }

  /** Never rejects. `room` is in bytes. */
  async memoryOf(sandbox: Sandbox, hand: ProvisionRequest, room: number): Promise<FoundMemory> {
    const { clock, collectMs, memory } = this.#options;
    if (memory === undefined) return {};
    using deadline = new Deadline(clock, collectMs);
    const collected = memory.collect(sandbox, hand, { room, signal: deadline.signal });
    const report = await Promise.race([collected, deadline.passed.then(() => undefined)]);
    return report === undefined ? {} : { memory: report };
  }
}
