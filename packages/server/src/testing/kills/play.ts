import type { Answer, MessagesRequest } from "@drover/testing";
import { LeaseLostError, StoreUnavailableError } from "../../core/errors.ts";
import type { SessionKey } from "../../core/ports/event-log.ts";
import type { Claim } from "../../core/ports/sessions.ts";
import type { LogEvent } from "../../core/session/log-event.ts";
import type { Execution } from "../../hands/fake/memory-hands.ts";
import type { DriveDeps } from "../../run/deps.ts";
import { drive } from "../../run/drive.ts";
import type { BrainWorld } from "../brain.ts";
import {
  Mortal,
  mortalAnnouncements,
  mortalHands,
  mortalMcpServers,
  mortalModel,
  mortalStore,
} from "../mortal.ts";
import type { Fate } from "./fate.ts";
import { answerOf, judgeAnswer, stepOf, summaryAnswer } from "./model-script.ts";
import type { SessionPlan } from "./plan.ts";
import { type AcceptedInput, User } from "./user.ts";

/** More claims than any session of a plan needs, whatever befalls it. */
const DRIVES_MAX = 80;
/** Milliseconds after which a play that neither ends nor fails is stuck. Nothing in it waits for a clock. */
const STUCK_MS = 20_000;
/** So many steps after they went, hands and room come back. */
const MISHAP_STEPS = 5;

/** What came of a session, for the judge. */
export interface Played {
  readonly log: readonly LogEvent[];
  readonly accepted: readonly AcceptedInput[];
  readonly executions: readonly Execution[];
  /** What tools did, by label; a label is done once. */
  readonly deeds: readonly string[];
  /** The steps of each process, by name. */
  readonly traces: readonly (readonly string[])[];
  /** The steps that processes died at, by name. */
  readonly deaths: readonly string[];
  /** What went wrong beside the log: a session that is stuck, an error that no fate explains. */
  readonly problems: readonly string[];
}

/** The world that a play needs, and the faults that are planted in it. */
export interface Stage {
  readonly brain: BrainWorld;
  /** True: writes fail. */
  readonly setFull: (isFull: boolean) => void;
  /** What a process works with; planted faults are in here. */
  readonly depsOf: (deps: DriveDeps) => DriveDeps;
  /** A planted fault: processes do not end the leases of those before them. */
  readonly keepsLeases: boolean;
}

/** One session from its first message to its end, by one process after another. */
export class Play {
  readonly user: User;
  readonly key: SessionKey;
  readonly deeds: string[] = [];
  readonly #stage: Stage;
  readonly #plan: SessionPlan;
  readonly #fate: Fate;
  readonly #problems: string[] = [];
  readonly #mortals: Mortal[] = [];
  readonly #deaths: string[] = [];
  readonly #pending: Promise<void>[] = [];
  readonly #stop = new AbortController();
  #drives = 0;

  constructor(
    stage: Stage,
    session: { readonly key: SessionKey; readonly threadId: string },
    plan: SessionPlan,
    fate: Fate,
  ) {
    this.#stage = stage;
    this.key = session.key;
    this.#plan = plan;
    this.#fate = fate;
    this.user = new User(stage.brain, session, plan, () => stage.setFull(false));
  }

  async play(): Promise<Played> {
    const { brain } = this.#stage;
    const before = brain.hands.executions.length;
    const timer = Promise.withResolvers<void>();
    const watch = setTimeout(() => {
      this.#problems.push("stuck: neither does it end nor does it do anything");
      timer.resolve();
    }, STUCK_MS);
    const processes = this.#processes().catch((error: unknown) => this.#note(error));
    await Promise.race([processes, timer.promise]);
    clearTimeout(watch);
    this.#stop.abort();
    this.#mend();
    return {
      log: await brain.log(this.key),
      accepted: this.user.accepted,
      deeds: this.deeds,
      executions: brain.hands.executions.slice(before),
      traces: this.#mortals.map(({ trace }) => trace),
      deaths: this.#deaths,
      problems: this.#problems,
    };
  }

  /** What the model says to a request of this session. */
  async modelAnswer(request: MessagesRequest): Promise<Answer> {
    const judged = judgeAnswer(request);
    if (judged !== undefined) return judged;
    const log = await this.#stage.brain.log(this.key);
    const summary = summaryAnswer(this.#plan, log);
    if (summary !== undefined) return summary;
    const step = stepOf(this.#plan, log);
    // Whoever was frozen asks for what the log has no open request for, which no user sees.
    const open = openRequest(log);
    if (step.kind === "hold" && open !== undefined) this.#soon(this.user.interruptOnce(open));
    return answerOf(step);
  }

  /** Some process waits until then, which the user does not; one that thaws waits for it again. */
  impatience(atMs: number): void {
    this.#soon(this.user.interruptOnce(`the wait until ${atMs}`));
  }

  async #processes(): Promise<void> {
    const { brain } = this.#stage;
    const deaths = [...this.#fate.deaths];
    let frozen: { mortal: Mortal; over: Promise<void> } | undefined;
    for (;;) {
      const death = deaths.shift();
      const isFirst = this.#mortals.length === 0;
      const mortal: Mortal = new Mortal(death?.at ?? 0, (step) => {
        if (isFirst) this.#befall(step);
        else if (step === this.#fate.thawAt) frozen?.mortal.thaw();
      });
      this.#mortals.push(mortal);
      const over = this.#live(mortal);
      await Promise.race([over, mortal.died]);
      if (!mortal.isDead) break;
      this.#deaths.push(mortal.trace.at(-1) ?? "");
      this.#mend();
      if (death?.takesHands === true) brain.hands.kill();
      if (this.#fate.thawAt !== undefined) frozen ??= { mortal, over };
    }
    frozen?.mortal.thaw();
    await frozen?.over;
    await Promise.all(this.#pending);
    await this.#takeUpTheRest();
  }

  /** What was sent when the last process had ended, as by a frozen one that thawed, is for another. */
  async #takeUpTheRest(): Promise<void> {
    if ((await this.#stage.brain.store.events.getInbox(this.key)).length === 0) return;
    const mortal = new Mortal(0);
    this.#mortals.push(mortal);
    await this.#live(mortal);
  }

  /** One process: takes every lease over, then claims and drives until the user wants nothing more. */
  async #live(mortal: Mortal): Promise<void> {
    const { brain, depsOf, keepsLeases } = this.#stage;
    const deps = depsOf(brain.deps);
    const mine: DriveDeps = {
      ...deps,
      store: mortalStore(deps.store, mortal),
      hands: mortalHands(deps.hands, mortal),
      mcpServers: mortalMcpServers(deps.mcpServers, mortal),
      model: mortalModel(deps.model, mortal),
      announcements: mortalAnnouncements(deps.announcements, mortal),
      log: {
        info: () => undefined,
        error: (fields, message) => this.#fail(mortal, message, fields["err"]),
      },
    };
    const holder = deps.newId("holder");
    if (!keepsLeases) await brain.store.write((tx) => tx.queue.takeOver(holder));
    // Whoever was frozen owns the store no longer, and is told so within its transaction.
    const isOwner = () => this.#mortals.at(-1) === mortal;
    while (isOwner() && !this.#stop.signal.aborted) {
      const claims = await this.#claim(mine, holder, isOwner);
      if (!isOwner()) return;
      if (claims.length === 0 && !(await this.user.act())) return;
      await Promise.all(claims.map((claim) => this.#drive(claim, mine, mortal)));
    }
  }

  async #claim(mine: DriveDeps, holder: string, isOwner: () => boolean): Promise<readonly Claim[]> {
    for (;;) {
      try {
        return await mine.store.write(async (tx) =>
          isOwner() ? await tx.queue.claim({ holder, leaseMs: null, limit: 10 }) : [],
        );
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
      }
    }
  }

  async #drive(claim: Claim, mine: DriveDeps, mortal: Mortal): Promise<void> {
    this.#drives += 1;
    if (this.#drives > DRIVES_MAX) {
      this.#problems.push(`stuck: it does not come to rest within ${DRIVES_MAX} claims`);
      this.#stop.abort();
      return;
    }
    try {
      await drive(claim, mine, this.#stop.signal);
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#fail(mortal, "a drive failed", error);
    }
  }

  #fail(mortal: Mortal, message: string, error: unknown): void {
    // A process that was frozen finds out by its first append that the session is another's.
    if (error instanceof LeaseLostError && mortal !== this.#mortals.at(-1)) return;
    this.#note(error, message);
  }

  #note(error: unknown, message = "the play failed"): void {
    const told = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#problems.push(`${message}: ${told}`);
  }

  #befall(step: number): void {
    const { mishap } = this.#fate;
    if (mishap === undefined) return;
    const { brain, setFull } = this.#stage;
    if (step === mishap.at + MISHAP_STEPS) this.#mend();
    if (step !== mishap.at) return;
    switch (mishap.what) {
      case "hands die":
        brain.hands.kill();
        break;
      case "hands are away":
        brain.hands.goAway();
        break;
      case "disk is full":
        setFull(true);
        break;
      case "interrupt":
        this.#soon(this.user.interrupt());
        break;
      case "message":
        this.#soon(this.user.say("one more thing"));
        break;
    }
  }

  /** What a mishap took away is there again. */
  #mend(): void {
    this.#stage.setFull(false);
    this.#stage.brain.hands.comeBack();
  }

  #soon(work: Promise<void>): void {
    this.#pending.push(work.catch((error: unknown) => this.#note(error)));
  }
}

/** The request that the log waits for the end of, by its start; the last one, for there is at most one. */
function openRequest(log: readonly LogEvent[]): string | undefined {
  const open = log.findLast(({ type }) => type.startsWith("span.model_request_"));
  return open?.type === "span.model_request_start" ? open.id : undefined;
}
