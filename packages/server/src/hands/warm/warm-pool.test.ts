import { expect, test } from "vitest";
import type { Recipe } from "../../core/ports/hands.ts";
import { makeCall } from "../fake/make-call.ts";
import { ManualClock } from "../fake/manual-clock.ts";
import { ScriptedCredentials } from "../fake/scripted-credentials.ts";
import { ScriptedProvider } from "../fake/scripted-provider.ts";
import { SparingProvider } from "../fake/scripted-spares.ts";
import { SandboxKeeper } from "../runtime/sandbox-keeper.ts";
import { sandboxSecrets } from "../runtime/sandbox-secrets.ts";
import { WarmPool } from "./warm-pool.ts";

test("a new hand is served by a spare of the shape that the one before had", async () => {
  const { provider, acquire, fill } = open();
  await fill();
  expect(provider.spares.made).toEqual([]);
  await acquire("hand_1");
  await fill();
  expect(provider.spares.made).toEqual([{ recipe: makeCall().recipe }]);
  const { sandbox } = await acquire("hand_2");
  expect(sandbox).toBe(provider.spares.sandboxes[0]);
  expect(provider.sandboxes.map(({ handId }) => handId)).toEqual(["hand_1"]);
});

test("as many are kept as are set, made one after the other, also after some were used or died", async () => {
  const { provider, acquire, fill, pool } = open({ sparesMax: 3 });
  await acquire("hand_1");
  await fill();
  expect([provider.spares.made.length, pool.size]).toEqual([3, 3]);
  await acquire("hand_2");
  provider.spares.sandboxes[1]?.die("killed");
  await turn();
  expect(pool.size).toBe(1);
  await fill();
  expect([provider.spares.made.length, pool.size]).toEqual([5, 3]);
});

test("two calls at once never get the same", async () => {
  const { provider, acquire, fill } = open({ sparesMax: 1 });
  await acquire("hand_1");
  await fill();
  const leases = await Promise.all([acquire("hand_2"), acquire("hand_3")]);
  expect(leases[0]?.sandbox).toBe(provider.spares.sandboxes[0]);
  expect(leases[1]?.sandbox).toBe(provider.sandboxes[1]);
});

test("a session with credentials gets none, since programs of a spare trust the machine alone", async () => {
  const { provider, acquire, fill, keeper, pool } = open();
  await acquire("hand_1");
  await fill();
  const secrets = sandboxSecrets(new ScriptedCredentials());
  const request = { ...makeCall({ handId: "hand_2" }), secrets };
  expect(pool.hasFor(request)).toBe(false);
  const { sandbox } = await keeper.acquire(request, new AbortController().signal);
  expect(sandbox).toBe(provider.sandboxes[1]);
  expect((await acquire("hand_3")).sandbox).toBe(provider.spares.sandboxes[0]);
});

test("none is made when none is set", async () => {
  const { provider, acquire, fill } = open({ sparesMax: 0 });
  await acquire("hand_1");
  await fill();
  expect(provider.spares.made).toEqual([]);
});

test("a hand that has files gets none, and tells nothing of what new ones are like", async () => {
  const { provider, acquire, fill } = open();
  provider.spares.used.add("hand_old");
  await acquire("hand_old");
  await fill();
  expect(provider.spares.made).toEqual([]);
  await acquire("hand_1");
  await fill();
  provider.spares.used.add("hand_older");
  expect((await acquire("hand_older")).sandbox).toBe(provider.sandboxes[2]);
});

test("what is mounted before the first process is made anew, and leaves the spares as they are", async () => {
  const { provider, acquire, fill, pool } = open();
  await acquire("hand_1");
  await fill();
  const memory = {
    ...{ type: "memory_store" as const, mount_path: "/mnt/memory/a" },
    ...{ memory_store_id: "memstore_1", access: "read_only" as const },
  };
  await acquire("hand_2", { mounts: [memory] });
  await fill();
  expect([provider.sandboxes.length, pool.size, provider.spares.made.length]).toEqual([2, 1, 1]);
});

test("spares of an earlier shape are ended when another is wanted", async () => {
  const { provider, acquire, fill, pool } = open();
  await acquire("hand_1");
  await fill();
  const network = { type: "unrestricted" } as const;
  await acquire("hand_2", { network });
  expect(provider.sandboxes).toHaveLength(2);
  await fill();
  expect(provider.spares.sandboxes.map(({ isDead }) => isDead)).toEqual([true, false]);
  expect([pool.size, provider.spares.made[1]?.recipe.network.type]).toEqual([1, "limited"]);
  expect((await acquire("hand_3", { network })).sandbox).toBe(provider.spares.sandboxes[1]);
});

test("where a spare cannot become the hand's, its sandbox is made as always", async () => {
  const { provider, acquire, fill, pool, said } = open();
  await acquire("hand_1");
  await fill();
  provider.spares.onAdopt = async () => false;
  expect((await acquire("hand_2")).sandbox).toBe(provider.sandboxes[1]);
  expect([pool.size, provider.spares.sandboxes[0]?.isDead]).toEqual([0, true]);
  await fill();
  provider.spares.onAdopt = () => Promise.reject(new Error("no room"));
  expect((await acquire("hand_3")).sandbox).toBe(provider.sandboxes[2]);
  expect(provider.spares.sandboxes[1]?.isDead).toBe(true);
  expect(said).toContain("spare_not_used");
});

test("none is made while somebody waits for a sandbox", async () => {
  const { provider, acquire, fill } = open();
  await acquire("hand_1");
  const making = Promise.withResolvers<void>();
  provider.onProvision = () => making.promise;
  const waiting = acquire("hand_2");
  await fill();
  expect(provider.spares.made).toEqual([]);
  making.resolve();
  await waiting;
  await fill();
  expect(provider.spares.made).toHaveLength(1);
});

test("they count as sandboxes and are the first to go where another has no room", async () => {
  const { provider, acquire, fill, keeper, pool } = open({ sparesMax: 5, sandboxesMax: 3 });
  await acquire("hand_1");
  await fill();
  expect(pool.size).toBe(2);
  provider.spares.used.add("hand_old");
  await acquire("hand_old");
  expect([pool.size, keeper.size]).toEqual([1, 2]);
  // Full, but for the spare that is what is asked for.
  await acquire("hand_2");
  expect([pool.size, keeper.size, provider.sandboxes.length]).toEqual([0, 3, 2]);
  await expect(acquire("hand_3")).rejects.toThrow("all 3 sandboxes");
});

test("one that is being made is given up where another sandbox has no room", async () => {
  const { provider, acquire, pool, keeper } = open({ sandboxesMax: 2 });
  await acquire("hand_1");
  provider.spares.onMake = (signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
    });
  keeper.fillSpares();
  await turn();
  expect(pool.size).toBe(1);
  await acquire("hand_2");
  expect([pool.size, keeper.size]).toEqual([0, 2]);
});

test("they are ended, and none is made, where memory or disk is short", async () => {
  const { provider, acquire, fill, keeper, pool, machine } = open({ sparesMax: 2 });
  await acquire("hand_1");
  await fill();
  keeper.closeOldest();
  await turn();
  expect([pool.size, provider.sandboxes[0]?.isDead]).toEqual([1, false]);
  machine.isTight = true;
  await fill();
  expect([pool.size, provider.spares.made.length]).toEqual([0, 2]);
  machine.isTight = false;
  await fill();
  expect(pool.size).toBe(2);
});

test("one that could not be made is tried again after a while", async () => {
  const { provider, acquire, fill, clock, said } = open();
  await acquire("hand_1");
  let attempts = 0;
  provider.spares.onMake = async () => {
    attempts += 1;
    if (attempts === 1) throw new Error("no loop device");
  };
  await fill();
  await fill();
  expect([attempts, said.filter((event) => event === "spare_not_made")]).toEqual([
    1,
    ["spare_not_made"],
  ]);
  await clock.advance(60_000);
  await fill();
  expect([attempts, provider.spares.made.length]).toEqual([2, 1]);
});

test("it is said once that there are none for a provider", async () => {
  const { provider, acquire, fill, said } = open();
  provider.spares.refused = "its folders cannot be renamed";
  await acquire("hand_1");
  await acquire("hand_2");
  await fill();
  expect(provider.spares.made).toEqual([]);
  expect(said.filter((event) => event === "no_spare_sandboxes")).toHaveLength(1);
  const other = open({ provider: new ScriptedProvider() });
  await other.acquire("hand_1");
  expect(other.said).toContain("no_spare_sandboxes");
});

test("all are ended with the hands, one that is being made among them", async () => {
  const { provider, acquire, fill, keeper, pool } = open({ sparesMax: 2 });
  await acquire("hand_1");
  const making = Promise.withResolvers<void>();
  provider.spares.onMake = () =>
    provider.spares.made.length === 0 ? Promise.resolve() : making.promise;
  await fill({ isHeld: true });
  expect(pool.size).toBe(2);
  const closed = keeper.closeAll();
  making.resolve();
  await closed;
  expect(pool.size).toBe(0);
  expect(provider.spares.sandboxes.map(({ isDead }) => isDead)).toEqual([true, true]);
});

interface Given<P extends ScriptedProvider> {
  readonly provider: P;
  readonly sparesMax: number;
  readonly sandboxesMax: number;
}

function open(
  given?: Partial<Given<SparingProvider>>,
): ReturnType<typeof openWith<SparingProvider>>;
function open(
  given: Partial<Given<ScriptedProvider>>,
): ReturnType<typeof openWith<ScriptedProvider>>;
function open(given: Partial<Given<ScriptedProvider>> = {}) {
  return openWith({ provider: new SparingProvider(), sparesMax: 1, sandboxesMax: 10, ...given });
}

function openWith<P extends ScriptedProvider>({ provider, sparesMax, sandboxesMax }: Given<P>) {
  const clock = new ManualClock();
  const said: string[] = [];
  const machine = { isTight: false };
  const common = { provider, clock, report: (event: string) => void said.push(event) };
  const pool = new WarmPool({
    ...{ ...common, sparesMax, provisionDeadlineMs: 30_000 },
    isTight: async () => machine.isTight,
  });
  const keeper = new SandboxKeeper({
    ...{ ...common, warm: pool, sandboxesMax },
    provisionDeadlineMs: 30_000,
    installDeadlineMs: 600_000,
    idleMs: 60_000,
  });
  return {
    ...{ provider, clock, said, machine, pool, keeper },
    acquire: (handId: string, changes: Partial<Recipe> = {}) => {
      const recipe = { ...makeCall().recipe, ...changes };
      return keeper.acquire(makeCall({ handId, recipe }), new AbortController().signal);
    },
    /** Looks once; resolves when nothing of it is under way, or with one that is. */
    fill: async ({ isHeld = false } = {}) => {
      keeper.fillSpares();
      if (isHeld) await turn();
      else await pool.rest();
    },
  };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
