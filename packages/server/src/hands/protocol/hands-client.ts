import type { CheckpointOutcome, Checkpoints, KeptFiles } from "../../core/ports/checkpoints.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type {
  AskedQuestion,
  CredentialAnswer,
  CredentialQuestions,
  SealedOAuth,
} from "../../core/ports/credential-broker.ts";
import type { CredentialTrials, TrialOutcome } from "../../core/ports/credential-trials.ts";
import type { HandReport } from "../../core/ports/hand-records.ts";
import type {
  CallOutcome,
  HandCall,
  HandOfSession,
  Hands,
  HandsBoot,
  LiveOutputs,
  OutputFile,
  Recovered,
  TakeOutputs,
} from "../../core/ports/hands.ts";
import type { McpListing, McpListRequest, McpServers } from "../../core/ports/mcp-servers.ts";
import type {
  MemoryCopies,
  MemoryOffer,
  MemoryOfferOutcome,
} from "../../core/ports/memory-copies.ts";
import type { ProvisionRequest } from "../../core/ports/sandbox.ts";
import type { CarryOutcome, SealedMove, SecretCarrier } from "../../core/ports/secret-carrier.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import { CallClient } from "./call-client.ts";
import { CredentialClient } from "./credential-client.ts";
import { HandClient } from "./hand-client.ts";
import { HandsFinder, type StartHands } from "./hands-finder.ts";
import { givenUp } from "./unreachable.ts";

export interface LocalHandsOptions {
  readonly dataDir: string;
  readonly start: StartHands;
  readonly clock: Clock;
  /** For starting hands and having them answer, in milliseconds. */
  readonly startDeadlineMs?: number;
  /** See `HandsFinderOptions`. */
  readonly network?: string;
  /**
   * Between two signs of life given to hands that run, in milliseconds: they end themselves when
   * they hear of no server for long. It never starts any.
   */
  readonly keepAliveMs?: number;
  /**
   * Sends every call as one that was never sent. It exists for the fault campaign, which must catch
   * what comes of it.
   */
  readonly unsafeForgetSentCalls?: boolean;
}

const START_DEADLINE_MS = 20_000;
const KEEP_ALIVE_MS = 120_000;

/** The hands process of a data folder on this machine, found or started when first needed. */
export class LocalHands
  implements
    Hands,
    Checkpoints,
    LiveOutputs,
    MemoryCopies,
    KeptFiles,
    CredentialQuestions,
    CredentialTrials,
    SecretCarrier,
    McpServers
{
  readonly #clock: Clock;
  readonly #finder: HandsFinder;
  readonly #calls: CallClient;
  readonly #hand: HandClient;
  readonly #credentials: CredentialClient;
  readonly #closed = new AbortController();

  constructor(options: LocalHandsOptions) {
    const { startDeadlineMs = START_DEADLINE_MS, clock, unsafeForgetSentCalls } = options;
    this.#clock = clock;
    this.#finder = new HandsFinder({ ...options, startDeadlineMs });
    const shared = { finder: this.#finder, closed: this.#closed.signal };
    this.#calls = new CallClient({ ...shared, clock, unsafeForgetSentCalls });
    this.#hand = new HandClient(shared);
    this.#credentials = new CredentialClient({ ...shared, clock });
    void this.#keepAlive(options.keepAliveMs ?? KEEP_ALIVE_MS);
  }

  async locate(handId: string, signal: AbortSignal): Promise<HandsBoot> {
    if (signal.aborted) throw givenUp();
    const stop = AbortSignal.any([signal, this.#closed.signal]);
    const connection = await unlessAborted(this.#finder.find(), stop, givenUp);
    const { boot, installationId } = connection;
    return { hand_id: handId, hands_boot: boot, installation_id: installationId };
  }

  execute(call: HandCall, signal: AbortSignal, takeOutputs?: TakeOutputs): Promise<CallOutcome> {
    return this.#calls.execute(call, signal, takeOutputs);
  }

  cancel(call: Pick<HandCall, "sessionId" | "callId" | "handsBoot" | "epoch">): Promise<void> {
    return this.#calls.cancel(call);
  }

  settle(call: Pick<HandCall, "callId" | "handsBoot">): Promise<void> {
    return this.#calls.settle(call);
  }

  recover(hand: HandOfSession, signal: AbortSignal): Promise<Recovered> {
    return this.#hand.recover(hand, signal);
  }

  lookAtOutputs(hand: HandOfSession, signal: AbortSignal): Promise<readonly OutputFile[]> {
    return this.#hand.lookAtOutputs(hand, signal);
  }

  settleOutputs(handId: string, outputs: readonly OutputFile[]): Promise<void> {
    return this.#hand.settleOutputs(handId, outputs);
  }

  dispose(handId: string): Promise<boolean> {
    return this.#hand.dispose(handId);
  }

  take(hand: ProvisionRequest, signal: AbortSignal): Promise<CheckpointOutcome> {
    return this.#hand.take(hand, signal);
  }

  offer(offer: MemoryOffer, signal: AbortSignal): Promise<MemoryOfferOutcome> {
    return this.#hand.offer(offer, signal);
  }

  listTools(request: McpListRequest, signal: AbortSignal): Promise<McpListing> {
    return this.#hand.listTools(request, signal);
  }

  reports(): Promise<readonly HandReport[]> {
    return this.#hand.reports();
  }

  acknowledge(report: HandReport): Promise<void> {
    return this.#hand.acknowledge(report);
  }

  nextQuestions(signal: AbortSignal): Promise<readonly AskedQuestion[]> {
    return this.#credentials.nextQuestions(signal);
  }

  answerQuestion(asked: AskedQuestion, answer: CredentialAnswer): Promise<void> {
    return this.#credentials.answerQuestion(asked, answer);
  }

  try(credential: SealedOAuth, signal: AbortSignal): Promise<TrialOutcome> {
    return this.#credentials.try(credential, signal);
  }

  carry(moves: readonly SealedMove[], signal: AbortSignal): Promise<CarryOutcome> {
    return this.#credentials.carry(moves, signal);
  }

  /** Stops waiting for anything. The hands go on. */
  close(): void {
    this.#closed.abort();
    this.#finder.close();
  }

  async #keepAlive(everyMs: number): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      await this.#clock.sleepUntil(this.#clock.now() + everyMs, signal);
      if (!signal.aborted) await this.#finder.last?.isAlive();
    }
  }
}
