import { expect, test } from "vitest";
import type { Recipe } from "../../core/ports/hands.ts";
import { type ProvisionRequest, SandboxUnavailableError } from "../../core/ports/sandbox.ts";
import { makeCall } from "../fake/make-call.ts";
import { ManualClock } from "../fake/manual-clock.ts";
import { ScriptedCredentials } from "../fake/scripted-credentials.ts";
import { ScriptedProvider } from "../fake/scripted-provider.ts";
import { SandboxKeeper } from "./sandbox-keeper.ts";
import { sandboxSecrets } from "./sandbox-secrets.ts";

test("makes one sandbox for all calls of a hand, on the first", async () => {
  const { keeper, provider } = open();
  expect(provider.sandboxes).toEqual([]);
  const [one, two] = await Promise.all([acquire(keeper), acquire(keeper)]);
  const three = await acquire(keeper);
  expect([two.sandbox, three.sandbox]).toEqual([one.sandbox, one.sandbox]);
  expect(provider.sandboxes).toHaveLength(1);
});

test("shows in a sandbox that lives the files of who asks for it last", async () => {
  const { keeper, provider } = open();
  const given = { sha256: "00", size_bytes: 1 };
  const at = (mount_path: string) => ({ type: "file" as const, mount_path, ...given });
  const { recipe } = makeCall();
  await acquire(keeper, { recipe: { ...recipe, mounts: [at("/a")] } });
  expect(provider.sandboxes[0]?.shown).toEqual(["/a"]);
  await acquire(keeper, { recipe: { ...recipe, mounts: [at("/a"), at("/b")] } });
  expect(provider.sandboxes.map(({ shown }) => shown)).toEqual([["/a", "/b"]]);
});

test("makes another when the sandbox died", async () => {
  const { keeper, provider } = open();
  (await acquire(keeper)).release();
  provider.sandboxes[0]?.die("killed");
  await turn();
  const next = await acquire(keeper);
  expect(next.sandbox).toBe(provider.sandboxes[1]);
});

test("makes no other before the processes of the last are gone", async () => {
  const { keeper, provider } = open();
  const lease = await acquire(keeper);
  const processes = Promise.withResolvers<void>();
  const [first] = provider.sandboxes;
  if (first) first.slowEnd = processes.promise;
  const ended = lease.end();
  const next = acquire(keeper);
  await turn();
  expect(provider.sandboxes).toHaveLength(1);
  processes.resolve();
  await ended;
  expect((await next).sandbox).toBe(provider.sandboxes[1]);
});

test("gives up the making when nobody waits for it any more, and not before", async () => {
  const { keeper, provider } = open();
  const given = Promise.withResolvers<AbortSignal>();
  provider.onProvision = (_request, signal) => {
    given.resolve(signal);
    return untilAborted(signal);
  };
  const [first, second] = [new AbortController(), new AbortController()];
  const waiting = [acquire(keeper, {}, first.signal), acquire(keeper, {}, second.signal)];
  const signal = await given.promise;
  first.abort();
  await expect(waiting[0]).rejects.toThrow(SandboxUnavailableError);
  expect(signal.aborted).toBe(false);
  second.abort();
  await expect(waiting[1]).rejects.toThrow(SandboxUnavailableError);
  expect(signal.aborted).toBe(true);
  provider.onProvision = async () => {};
  expect((await acquire(keeper)).sandbox).toBe(provider.sandboxes[0]);
});

test("ends a sandbox that is ready only after everybody gave up", async () => {
  const { keeper, provider } = open();
  const making = Promise.withResolvers<void>();
  provider.onProvision = () => making.promise;
  const patience = new AbortController();
  const waiting = acquire(keeper, {}, patience.signal);
  await turn();
  patience.abort();
  await expect(waiting).rejects.toThrow("given up");
  const next = acquire(keeper);
  making.resolve();
  const lease = await next;
  expect(provider.sandboxes.map((sandbox) => sandbox.isDead)).toEqual([true, false]);
  expect(lease.sandbox).toBe(provider.sandboxes[1]);
});

test("fails at the deadline, also if the provider does not stop, and then waits for it", async () => {
  const { keeper, provider, clock } = open();
  const making = Promise.withResolvers<void>();
  provider.onProvision = () => making.promise;
  const waiting = acquire(keeper);
  const failed = expect(waiting).rejects.toThrow("a sandbox could not be made within 30 s");
  await turn();
  await clock.advance(30_000);
  await failed;
  const next = acquire(keeper);
  await turn();
  expect(provider.sandboxes).toHaveLength(0);
  provider.onProvision = async () => {};
  making.resolve();
  expect((await next).sandbox).toBe(provider.sandboxes[1]);
  expect(provider.sandboxes[0]?.isDead).toBe(true);
});

test("tells why no sandbox can be made, and tries again at the next call", async () => {
  const { keeper, provider } = open();
  provider.onProvision = () => Promise.reject(new SandboxUnavailableError("bwrap is missing"));
  await expect(acquire(keeper)).rejects.toThrow("bwrap is missing");
  provider.onProvision = async () => {};
  expect((await acquire(keeper)).sandbox).toBe(provider.sandboxes[0]);
});

test("ends sandboxes that no call used for long, and those only", async () => {
  const { keeper, provider, clock } = open();
  (await acquire(keeper, { handId: "hand_idle" })).release();
  await acquire(keeper, { handId: "hand_busy" });
  await clock.advance(60_000);
  (await acquire(keeper, { handId: "hand_fresh" })).release();
  keeper.closeIdle();
  await expect.poll(() => keeper.size).toBe(2);
  expect(provider.sandboxes.map((sandbox) => sandbox.isDead)).toEqual([true, false, false]);
  expect(keeper.takeUnnoticedDeath("hand_idle")).toBeUndefined();
});

test("makes room by ending the sandbox that was idle longest, and refuses when all are in use", async () => {
  const { keeper, provider, clock } = open({ sandboxesMax: 2 });
  (await acquire(keeper, { handId: "hand_1" })).release();
  await clock.advance(1);
  (await acquire(keeper, { handId: "hand_2" })).release();
  await acquire(keeper, { handId: "hand_3" });
  expect(provider.sandboxes.map((sandbox) => sandbox.isDead)).toEqual([true, false, false]);
  await acquire(keeper, { handId: "hand_2" });
  await expect(acquire(keeper, { handId: "hand_4" })).rejects.toThrow("all 2 sandboxes");
});

test("remembers, once, that an unused sandbox died by itself", async () => {
  const { keeper, provider } = open();
  (await acquire(keeper)).release();
  provider.sandboxes[0]?.die("out of memory");
  await turn();
  expect(keeper.takeUnnoticedDeath("hand_1")).toBe("out of memory");
  expect(keeper.takeUnnoticedDeath("hand_1")).toBeUndefined();
});

test("remembers the death of a used sandbox, unless a call that used it tells of it", async () => {
  const { keeper, provider } = open();
  const [one, other] = [await acquire(keeper), await acquire(keeper)];
  provider.sandboxes[0]?.die("killed");
  await turn();
  await one.end();
  expect(keeper.takeUnnoticedDeath("hand_1")).toBeUndefined();
  other.release();
  const answered = await acquire(keeper);
  provider.sandboxes[1]?.die("killed again");
  await turn();
  answered.release();
  expect(keeper.takeUnnoticedDeath("hand_1")).toBe("killed again");
});

test("calls back who asked when a sandbox dies, unless it was taken back", async () => {
  const { keeper, provider } = open();
  const heard: string[] = [];
  const lease = await acquire(keeper);
  lease.onClosed((why) => heard.push(`kept: ${why}`));
  lease.onClosed((why) => heard.push(`taken back: ${why}`))();
  provider.sandboxes[0]?.die("killed");
  await turn();
  lease.onClosed((why) => heard.push(`late: ${why}`));
  expect(heard).toEqual(["kept: killed", "late: killed"]);
});

test("keeps a sandbox that could not be ended in the way of the next, and tries again", async () => {
  const { keeper, provider } = open();
  const lease = await acquire(keeper);
  const [sandbox] = provider.sandboxes;
  const close = sandbox?.close.bind(sandbox);
  if (sandbox) sandbox.close = () => Promise.reject(new Error("processes are left"));
  await expect(lease.end()).rejects.toThrow("could not be ended");
  expect((await acquire(keeper)).sandbox).toBe(sandbox);
  if (sandbox && close) sandbox.close = close;
  await lease.end();
  expect((await acquire(keeper)).sandbox).toBe(provider.sandboxes[1]);
});

test("ends everything and makes no more", async () => {
  const { keeper, provider } = open();
  await acquire(keeper, { handId: "hand_1" });
  await acquire(keeper, { handId: "hand_2" });
  await keeper.closeAll();
  expect(provider.sandboxes.map((sandbox) => sandbox.isDead)).toEqual([true, true]);
  await expect(acquire(keeper)).rejects.toThrow("stopping");
});

test("ends the sandbox of a hand before it disposes of its workspace", async () => {
  const { keeper, provider } = open();
  await acquire(keeper);
  const wasDead: (boolean | undefined)[] = [];
  const dispose = provider.dispose.bind(provider);
  provider.dispose = async (handId) => {
    wasDead.push(provider.sandboxes[0]?.isDead);
    await dispose(handId);
  };
  await keeper.dispose("hand_1");
  expect([wasDead, provider.disposed]).toEqual([[true], ["hand_1"]]);
});

test("lets a sandbox be read by nobody else, and ends the reading for who asks", async () => {
  const { keeper, provider } = open();
  let isStopped = false;
  const begun = Promise.withResolvers<void>();
  const reading = keeper.read(makeCall(), async (_sandbox, signal) => {
    begun.resolve();
    await untilAborted(signal).catch(() => {
      isStopped = true;
    });
  });
  await begun.promise;
  expect(await keeper.read(makeCall(), async () => "read")).toBeUndefined();
  const lease = await acquire(keeper);
  expect([isStopped, provider.sandboxes[0]?.isDead]).toEqual([true, true]);
  expect(lease.sandbox).toBe(provider.sandboxes[1]);
  await reading;
  expect(await keeper.read(makeCall({ handId: "hand_2" }), async () => "read")).toBe("read");
  expect([provider.sandboxes[2]?.isDead, keeper.has("hand_2")]).toEqual([true, false]);
  const failure = new Error("unreadable");
  const failing = keeper.read(makeCall({ handId: "hand_2" }), () => Promise.reject(failure));
  await expect(failing).rejects.toBe(failure);
  expect(keeper.has("hand_2")).toBe(false);
  expect(keeper.takeUnnoticedDeath("hand_2")).toBeUndefined();
});

test("ends a reading where a new sandbox has no room, and all of them when it closes", async () => {
  const { keeper, provider } = open({ sandboxesMax: 1 });
  const read = () => keeper.read(makeCall(), (_sandbox, signal) => untilAborted(signal));
  const first = read();
  const lease = await acquire(keeper, { handId: "hand_2" });
  expect(await first).toBeUndefined();
  expect(await read()).toBeUndefined();
  lease.release();
  await keeper.close("hand_2");
  const second = read();
  await keeper.closeAll();
  expect(await second).toBeUndefined();
  expect(provider.sandboxes.every(({ isDead }) => isDead)).toBe(true);
});

test("gives a sandbox to another session only if its own would be the same", async () => {
  const { keeper, provider } = open();
  const { recipe } = makeCall();
  const by = async (holder: string, hosts?: readonly string[]) => {
    const network = hosts ? ({ type: "limited", hosts } as const) : recipe.network;
    const request = { ...makeCall(), holder, recipe: { ...recipe, network } };
    const lease = await keeper.acquire(request, new AbortController().signal);
    lease.release();
    return provider.sandboxes.map((sandbox): unknown => sandbox).indexOf(lease.sandbox);
  };
  expect(await by("sesn_1", ["one.test"])).toBe(0);
  expect(await by("sesn_2", ["one.test"])).toBe(0);
  expect(await by("sesn_3", ["two.test"])).toBe(1);
  expect(await by("sesn_1")).toBe(2);
  expect(provider.sandboxes.map(({ isDead }) => isDead)).toEqual([true, true, false]);
});

test("gives a sandbox with credentials to the session alone that it was made for", async () => {
  const { keeper, provider } = open();
  const secrets = sandboxSecrets(new ScriptedCredentials());
  const by = async (holder: string, given: Partial<ProvisionRequest>) => {
    const request = { ...makeCall(), ...given, holder };
    const lease = await keeper.acquire(request, new AbortController().signal);
    lease.release();
    return provider.sandboxes.map((sandbox): unknown => sandbox).indexOf(lease.sandbox);
  };
  expect(await by("sesn_1", { secrets })).toBe(0);
  expect(await by("sesn_1", { secrets })).toBe(0);
  expect(await by("sesn_2", { secrets })).toBe(1);
  expect(await by("sesn_3", {})).toBe(2);
  expect(await by("sesn_4", { secrets })).toBe(3);
  expect(provider.sandboxes.map(({ isDead }) => isDead)).toEqual([true, true, true, false]);
});

test("ends the sandbox that was not used for the longest time, if there is one", async () => {
  const { keeper, provider, clock } = open();
  keeper.closeOldest();
  const busy = await acquire(keeper);
  for (const handId of ["hand_2", "hand_3"]) {
    await clock.advance(1_000);
    (await acquire(keeper, { handId })).release();
  }
  keeper.closeOldest();
  await turn();
  expect(provider.sandboxes.map(({ isDead }) => isDead)).toEqual([false, true, false]);
  busy.release();
});

function open(options: { sandboxesMax?: number } = {}) {
  const provider = new ScriptedProvider();
  const clock = new ManualClock();
  const keeper = new SandboxKeeper({
    provider,
    clock,
    report: () => {},
    sandboxesMax: 10,
    provisionDeadlineMs: 30_000,
    installDeadlineMs: 600_000,
    idleMs: 60_000,
    ...options,
  });
  return { keeper, provider, clock };
}

function acquire(
  keeper: SandboxKeeper,
  changes: { handId?: string; recipe?: Recipe } = {},
  signal = new AbortController().signal,
) {
  return keeper.acquire(makeCall(changes), signal);
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
  });
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
