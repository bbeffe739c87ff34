import { LeaseLostError, StoreUnavailableError } from "../core/errors.ts";
import type { Drafting } from "../core/harness/drafting.ts";
import { deadRequestDrafts, giveUpDrafts } from "../core/harness/failure.ts";
import { withMemoryNotes } from "../core/harness/memory-note.ts";
import { wantedActions } from "../core/harness/wanted-actions.ts";
import type { Claim } from "../core/ports/sessions.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import type { EventDraft, LogEvent } from "../core/session/log-event.ts";
import { threadState } from "../core/session/state.ts";
import { mcpServersOf } from "../core/tools/mcp-tools.ts";
import { type Decision, decide, isContested } from "./decide.ts";
import type { DriveDeps } from "./deps.ts";
import { type Effect, perform } from "./effects.ts";
import { InFlight } from "./in-flight.ts";
import { putMemories, type ReportedMemory } from "./memory.ts";
import { MemoryOffers } from "./memory-offers.ts";
import { SessionOutputs } from "./outputs.ts";
import { ReportedUsage } from "./reported-usage.ts";
import { SessionNews } from "./session-news.ts";
import { SessionView } from "./session-view.ts";
import type { Settlement } from "./settlement.ts";
import { showFailure } from "./show-failure.ts";
import { threadLimits } from "./thread-limits.ts";

/** How a drive ended. Only `released` means that nothing is left to do. */
export type DriveEnd = "released" | "lease_lost" | "stopped" | "gone";

/** So many claims without one append in between: something in the session kills its processes. */
const CLAIMS_MAX = 5;
/** Between two attempts of an append while the store cannot write. */
const STORE_RETRY_MS = 1_000;

/**
 * Drives one claimed session until it waits for its user.
 *
 * It may be killed at any `await`: the log holds all progress, and the next drive goes on from it.
 * Ends early when another process takes the session over or when `signal` is aborted.
 */
export async function drive(claim: Claim, deps: DriveDeps, signal: AbortSignal): Promise<DriveEnd> {
  const news = new SessionNews(deps.announcements, claim.sessionId);
  try {
    const view = await SessionView.load(deps.store, claim);
    deps.failPoint("serve.load.after");
    if (view === undefined) return "gone";
    return await new SessionDriver(view, claim, deps, news).run(signal);
  } catch (error) {
    if (error instanceof LeaseLostError) return "lease_lost";
    const isFailed = !(error instanceof StoreUnavailableError) && !signal.aborted;
    if (isFailed) await showFailure(claim, deps);
    throw error;
  } finally {
    news.close();
  }
}

class SessionDriver {
  readonly #view: SessionView;
  readonly #claim: Claim;
  readonly #deps: DriveDeps;
  readonly #news: SessionNews;
  readonly #inFlight: InFlight;
  readonly #reported = new ReportedUsage();
  readonly #outputs: SessionOutputs;
  readonly #memoryOffers = new MemoryOffers();
  /** Aborted when the drive is to stop. */
  #signal = new AbortController().signal;

  constructor(view: SessionView, claim: Claim, deps: DriveDeps, news: SessionNews) {
    this.#view = view;
    this.#claim = claim;
    this.#deps = deps;
    this.#news = news;
    this.#outputs = new SessionOutputs(claim, deps);
    this.#inFlight = new InFlight(() => news.ring());
  }

  async run(signal: AbortSignal): Promise<DriveEnd> {
    this.#signal = signal;
    const ring = () => this.#news.ring();
    signal.addEventListener("abort", ring, { once: true });
    try {
      return await this.#drive();
    } finally {
      signal.removeEventListener("abort", ring);
      this.#inFlight.abort();
    }
  }

  async #drive(): Promise<DriveEnd> {
    await this.#recover();
    let mustLook = false;
    while (!this.#signal.aborted) {
      if (this.#news.take() || mustLook) await this.#refresh();
      mustLook = false;
      const isProgress = await this.#advance();
      if (isProgress || this.#news.isFresh) continue;
      if (this.#inFlight.size > 0) await this.#news.wait();
      else if (await this.#release(null)) return "released";
      else mustLook = true;
    }
    this.#inFlight.abort();
    await this.#release(new Date(this.#deps.clock.now()).toISOString());
    return "stopped";
  }

  /**
   * Reads what others have put there. What another drive put there ends this one at once: to decide on
   * would be a state that its own effects do not belong to.
   */
  async #refresh(): Promise<void> {
    await this.#view.refresh();
    const { sessionId, epoch } = this.#claim;
    if (this.#view.epoch > epoch) throw new LeaseLostError(sessionId, epoch);
  }

  /** Closes what an earlier drive left open; gives up on a turn that keeps killing its process. */
  async #recover(): Promise<void> {
    const { state } = this.#view;
    const drafting = this.#drafting();
    if (this.#claim.claims <= CLAIMS_MAX) {
      const lost = deadRequestDrafts(state, drafting);
      if (lost.length > 0) await this.#append([{ drafts: () => lost }]);
      return;
    }
    const { sessionId } = this.#claim;
    this.#deps.log.error({ session_id: sessionId, claims: this.#claim.claims }, "turn given up");
    const message =
      "The server ended several times while it worked on this turn, which was given up.";
    await this.#endTurn({ message, cause: "poison" });
  }

  /** Appends what has been decided and what has come back, then sees to the effects. */
  async #advance(): Promise<boolean> {
    try {
      return await this.#step();
    } catch (error) {
      if (error instanceof LeaseLostError || this.#signal.aborted) throw error;
      await this.#giveUp(error);
      return true;
    }
  }

  async #step(): Promise<boolean> {
    const settlements: Settlement[] = [];
    for (const settled of this.#inFlight.takeSettled()) {
      if (settled.type === "threw") throw settled.error;
      settlements.push(settled.settlement);
    }
    const isProgress = await this.#append(settlements);
    const effects = this.#actions().filter((action): action is Effect => action.kind !== "append");
    const context = {
      view: this.#view,
      epoch: this.#claim.epoch,
      deps: this.#deps,
      reported: this.#reported,
      outputs: this.#outputs,
      memoryOffers: this.#memoryOffers,
    };
    this.#inFlight.reconcile(effects, (effect, signal) => perform(effect, context, signal));
    return isProgress;
  }

  #actions() {
    const { threadId, now } = this.#drafting();
    return wantedActions({ ...this.#known(), threadId, now });
  }

  /** What the next decision follows from. */
  #known() {
    const { state, inbox, session } = this.#view;
    const { policies } = this.#deps;
    const limitsOf = () => threadLimits(session, this.#deps);
    const hasMcpServers = mcpServersOf(session.agent).length > 0;
    return { state, inbox, policies, limitsOf, hasMcpServers };
  }

  /** One append for everything that is known now; false if there is nothing to append. */
  async #append(settlements: readonly Settlement[]): Promise<boolean> {
    const view = this.#view;
    const { failPoint } = this.#deps;
    for (;;) {
      const decision = decide({ ...this.#known(), drafting: this.#drafting(), settlements });
      if (decision.drafts.length === 0) return false;
      failPoint("serve.append.before");
      const committed = await this.#commit(decision, settlements);
      failPoint("serve.append.after");
      if (committed === undefined) {
        await view.refresh();
        continue;
      }
      await view.committed(committed);
      for (const { committed: tell } of settlements) void this.#tell(tell);
      return true;
    }
  }

  /** Undefined, with nothing stored, if the client said something that the decision presumed it had not. */
  async #commit(
    decision: Decision,
    settlements: readonly Settlement[],
  ): Promise<readonly LogEvent[] | undefined> {
    const { key, state } = this.#view;
    const { drafts, status, totals } = decision;
    const checkpoint = this.#view.checkpoint();
    const outputs = settlements.flatMap((settlement) => settlement.outputs ?? []);
    const memories = settlements.flatMap((settlement) => settlement.memory ?? []);
    const mustBeLast = isContested(state, drafts);
    return await this.#persist(() =>
      this.#deps.store.write(async (tx) => {
        if (mustBeLast && (await tx.sessions.lock(key))?.last_seq !== state.seq) return undefined;
        await this.#outputs.put(tx, this.#view.session, outputs);
        for (const { alongside } of settlements) await alongside?.(tx);
        const notes = await this.#putMemories(tx, memories);
        return await tx.events.append({
          ...key,
          epoch: this.#claim.epoch,
          drafts: withMemoryNotes(drafts, notes),
          status,
          totals,
          ...(checkpoint !== undefined && { checkpoint }),
        });
      }),
    ).catch((error: unknown) => {
      this.#tellRefused(error, drafts);
      throw error;
    });
  }

  /** Another process has the session by now: what this one was late with is in nobody's log but this. */
  #tellRefused(error: unknown, drafts: readonly EventDraft[]): void {
    if (!(error instanceof LeaseLostError)) return;
    const { sessionId, epoch } = this.#claim;
    const types = drafts.map(({ type }) => type);
    this.#deps.log.info({ session_id: sessionId, epoch, types }, "append refused");
  }

  async #putMemories(tx: StoreTransaction, memories: readonly ReportedMemory[]) {
    return await putMemories(tx, this.#view.session, memories, this.#deps.newId);
  }

  async #tell(committed: (() => Promise<void>) | undefined): Promise<void> {
    if (committed === undefined) return;
    this.#deps.failPoint("serve.settle.before");
    await committed();
    this.#deps.failPoint("serve.settle.after");
  }

  /** While the store cannot write, the drive waits with what it has, and goes on by itself later. */
  async #persist<T>(write: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await write();
      } catch (error) {
        if (!(error instanceof StoreUnavailableError) || this.#signal.aborted) throw error;
        const { clock } = this.#deps;
        await clock.sleepUntil(clock.now() + STORE_RETRY_MS, this.#signal);
      }
    }
  }

  /** No session is stuck: whatever went wrong is shown, and the turn ends. */
  async #giveUp(error: unknown): Promise<void> {
    const { sessionId } = this.#claim;
    this.#deps.log.error({ session_id: sessionId, err: error }, "turn failed");
    this.#inFlight.abort();
    await this.#refresh();
    const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const message = "An internal error ended this turn. The next message starts a new one.";
    await this.#endTurn({ message, cause });
  }

  /**
   * Gives the turn up with this error. Its calls are told to end and not waited for: they may be
   * what the turn cannot get over.
   */
  async #endTurn(error: Parameters<typeof giveUpDrafts>[1]): Promise<void> {
    const { hands } = this.#deps;
    const calls = this.#sentCalls();
    await Promise.all(calls.map((call) => hands.cancel(call)));
    const drafts: Settlement["drafts"] = (state, drafting) => giveUpDrafts(state, error, drafting);
    await this.#append([{ drafts }]);
    for (const call of calls) void this.#tell(() => hands.settle(call));
  }

  /** The calls that were sent to hands and are not answered. */
  #sentCalls() {
    const { state, session } = this.#view;
    const { epoch, sessionId } = this.#claim;
    return threadState(state, session.thread_id).calls.flatMap(({ id, started, answered }) =>
      started === null || answered
        ? []
        : [{ sessionId, callId: id, handsBoot: started.handsBoot, epoch }],
    );
  }

  async #release(wakeAt: string | null): Promise<boolean> {
    const { key, state, inbox } = this.#view;
    const { epoch } = this.#claim;
    // Input that could not be taken up yet waits for the client's next word, and holds nobody.
    const seenArrival = inbox.at(-1)?.arrival ?? 0;
    this.#deps.failPoint("serve.release.before");
    // Not synced: a release that is lost is found out and done again by the next claim.
    const isReleased = await this.#persist(() =>
      this.#deps.store.writeUnsynced((tx) =>
        tx.queue.release({ ...key, epoch, seenSeq: state.seq, seenArrival, wakeAt }),
      ),
    );
    this.#deps.failPoint("serve.release.after");
    return isReleased;
  }

  #drafting(): Drafting {
    const { session } = this.#view;
    return {
      threadId: session.thread_id,
      agentName: session.agent.name,
      model: session.agent.model,
      prices: this.#deps.prices,
      usageOf: (requestId) => this.#reported.of(requestId),
      now: new Date(this.#deps.clock.now()).toISOString(),
      newId: () => this.#deps.newId("sevt"),
    };
  }
}
