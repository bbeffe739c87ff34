import type { HandCall, MemoryReport } from "../../core/ports/hands.ts";
import type { MemoryOffer } from "../../core/ports/memory-copies.ts";
import {
  type Sandbox,
  SandboxGoneError,
  SandboxUnavailableError,
} from "../../core/ports/sandbox.ts";
import type { Report } from "../runtime/report.ts";
import { memoryMounts } from "./copy-folder.ts";
import { HandMemory } from "./hand-memory.ts";

export interface HandMemoriesOptions {
  /** The folder that the hand's others are in too. */
  readonly handFolder: (handId: string) => string;
  readonly report: Report;
}

type HandOf = Pick<HandCall, "handId" | "recipe">;

/** The memory stores of all hands. */
export class HandMemories {
  readonly #options: HandMemoriesOptions;
  readonly #hands = new Map<string, HandMemory>();

  constructor(options: HandMemoriesOptions) {
    this.#options = options;
  }

  /** See `HandMemory.offer`. */
  async offer(
    handId: string,
    offer: Pick<MemoryOffer, "acknowledged" | "stores" | "contents">,
  ): Promise<readonly string[]> {
    return await this.#of(handId).offer(offer);
  }

  /** Before a call. Rejects with `SandboxUnavailableError` where the stores cannot be had. */
  async refresh(sandbox: Sandbox, { handId, recipe }: HandOf, signal: AbortSignal): Promise<void> {
    const mounts = memoryMounts(recipe);
    if (mounts.length === 0) return;
    const hand = this.#hands.get(handId);
    if (hand === undefined || !hand.isReady(mounts)) {
      throw new SandboxUnavailableError("its memory stores could not be had");
    }
    try {
      await hand.refresh(sandbox, mounts, signal);
    } catch (cause) {
      if (signal.aborted || !(cause instanceof SandboxGoneError)) throw cause;
      const message = `it ended while its memory stores were brought up to date (${cause.message})`;
      throw new SandboxUnavailableError(message, { cause });
    }
  }

  /** After a call, or the death of its sandbox. Never rejects: what cannot be had now is found by the next. */
  async collect(
    sandbox: Sandbox,
    { handId, recipe }: HandOf,
    options: { readonly room: number; readonly signal: AbortSignal },
  ): Promise<MemoryReport | undefined> {
    const mounts = memoryMounts(recipe);
    if (mounts.length === 0) return undefined;
    try {
      return await this.#of(handId).collect(sandbox, mounts, options);
    } catch (error) {
      this.#options.report("memory_not_collected", { hand_id: handId, error });
      return undefined;
    }
  }

  /**
   * Whether there is something in the hand's stores that no result has had, and that goes with its folder. Rejects with
   * what the sandbox rejects with.
   */
  async hasNews(
    sandbox: Sandbox,
    { handId, recipe }: HandOf,
    signal: AbortSignal,
  ): Promise<boolean> {
    const mounts = memoryMounts(recipe);
    return mounts.length > 0 && (await this.#of(handId).hasNews(sandbox, mounts, signal));
  }

  /** What an earlier process knew of it is in its folder. */
  #of(handId: string): HandMemory {
    const hand = this.#hands.get(handId) ?? new HandMemory(this.#options.handFolder(handId));
    this.#hands.set(handId, hand);
    return hand;
  }

  /** The hand is gone, with its folder. */
  forget(handId: string): void {
    this.#hands.delete(handId);
  }
}
