import type { Drafting } from "../core/harness/drafting.ts";
import type { OutputFile } from "../core/ports/hands.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import type { EventDraft } from "../core/session/log-event.ts";
import type { SessionState } from "../core/session/state.ts";
import type { DriveDeps } from "./deps.ts";
import type { ReportedMemory } from "./memory.ts";
import type { MemoryOffers } from "./memory-offers.ts";
import type { SessionOutputs } from "./outputs.ts";
import type { ReportedUsage } from "./reported-usage.ts";
import type { SessionView } from "./session-view.ts";

/** What is to be appended for an effect that has ended. */
export interface Settlement {
  readonly drafts: (state: SessionState, drafting: Drafting) => readonly EventDraft[];
  /** Files that the call left for the user; recorded in the same transaction. */
  readonly outputs?: readonly OutputFile[];
  /** What the call changed in memory stores; stored in the same transaction. */
  readonly memory?: ReportedMemory;
  /** Written in the same transaction. */
  readonly alongside?: (tx: StoreTransaction) => Promise<void>;
  /** Run once the drafts are committed. Never rejects. */
  readonly committed?: () => Promise<void>;
}

/** What an effect is carried out with. */
export interface EffectContext {
  readonly view: SessionView;
  readonly epoch: number;
  readonly deps: DriveDeps;
  readonly reported: ReportedUsage;
  readonly outputs: SessionOutputs;
  readonly memoryOffers: MemoryOffers;
}
