import { BARE_POLICIES, DEFAULT_POLICIES } from "../../core/harness/policies.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { McpServers } from "../../core/ports/mcp-servers.ts";
import type { DriveDeps } from "../../run/deps.ts";
import { type MemoryStore, openMemoryStore } from "../../store/sqlite/memory-store.testsuite.ts";
import { createBrainWorld } from "../brain.ts";
import { impatientClock } from "../impatient-clock.ts";
import { doDeed } from "./deeds.ts";
import type { Fate } from "./fate.ts";
import { MCP, OFFERED_TOOLS, type SessionPlan } from "./plan.ts";
import type { PlantedFault } from "./planted-faults.ts";
import { Play, type Played } from "./play.ts";
import { budgetOf, PRICES } from "./prices.ts";

/**
 * They can be asked also while hands are away: a turn that goes on without their tools is another one, and cannot be
 * compared. `run/mcp.contract.test.ts` has that.
 */
const MCP_SERVERS: McpServers = {
  listTools: async ({ servers }) => {
    return { servers: servers.map(({ name }) => ({ name, ...MCP.serve() })) };
  },
};

/** A wait that is not jumped over: somebody has to end it. The longest that an API is granted is longer. */
const LONG_WAIT_MS = 9 * 60_000;

/** Where a plan is played as often as wanted, each time as a new session. */
export interface KillWorld {
  play(fate: Fate): Promise<Played>;
  close(): Promise<void>;
}

export async function createKillWorld(
  plan: SessionPlan,
  planted: PlantedFault = {},
): Promise<KillWorld> {
  let play: Play | undefined;
  let memory: MemoryStore | undefined;
  const current = () => {
    if (play === undefined) throw new Error("nothing is being played");
    return play;
  };
  const brain = await createBrainWorld({
    clock: patientClock((atMs) => play?.impatience(atMs)),
    policies: plan.hasWorkarounds ? DEFAULT_POLICIES : BARE_POLICIES,
    offered: OFFERED_TOOLS,
    mcp: MCP,
    prices: PRICES,
    ...(plan.window !== null && { window: plan.window }),
    script: (request) => current().modelAnswer(request),
    tools: {
      "*": (call, signal) => {
        const { key, user, deeds } = current();
        return doDeed(call, signal, { brain, key, user, deeds });
      },
    },
    openStore: (options) => {
      const unsafeIgnoreFence = planted.ignoresFence === true;
      memory = openMemoryStore({ ...options, unsafeIgnoreFence });
      return memory;
    },
  });
  const hands = planted.hands?.(brain.hands) ?? brain.hands;
  const stage = {
    brain,
    setFull: (isFull: boolean) => memory?.failWrites(isFull ? "the disk is full" : undefined),
    depsOf: (deps: DriveDeps): DriveDeps => {
      const model = planted.model?.(deps.model) ?? deps.model;
      return { ...deps, hands, mcpServers: MCP_SERVERS, model };
    },
    keepsLeases: planted.keepsLeases === true,
  };
  return {
    play: async (fate) => {
      const key = await brain.newSession(budgetOf(plan.budget) ?? undefined);
      const session = await brain.store.sessions.find(key);
      if (session === undefined) throw new Error(`no session ${key.sessionId}`);
      play = new Play(stage, { key, threadId: session.thread_id }, plan, fate);
      const refused = brain.api.refusals.length;
      const played = await play.play();
      const refusals = brain.api.refusals
        .slice(refused)
        .map(({ rule, message }) => `the model's API refuses a request: ${rule}: ${message}`);
      return { ...played, problems: [...played.problems, ...refusals] };
    },
    // A refusal is a problem of the play that it came in, and has been told.
    close: async () => {
      try {
        await brain[Symbol.asyncDispose]();
      } catch (error) {
        if (brain.api.refusals.length === 0) throw error;
      }
    },
  };
}

/** Jumps to whatever is waited for, but for what takes hours: that waits to be ended. */
function patientClock(onLongWait: (atMs: number) => void): Clock {
  const clock = impatientClock();
  return {
    now: () => clock.now(),
    sleepUntil: async (atMs, signal) => {
      if (atMs - clock.now() < LONG_WAIT_MS) return await clock.sleepUntil(atMs, signal);
      if (signal.aborted) return;
      onLongWait(atMs);
      await new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
    },
  };
}
