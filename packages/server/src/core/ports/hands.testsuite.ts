import { describe, expect, test } from "vitest";
import { bootId } from "../sandboxes/boot-id.ts";
import type { CallOutcome, HandCall, Hands, OutputFile, Recipe } from "./hands.ts";

/** Something to act on, and ways to see what happened to it that do not go through the journal. */
export interface HandsWorld extends AsyncDisposable {
  readonly hands: Hands;
  /**
   * How to note `mark` once and answer with a text that has it. `leaves`: an output with this path is there
   * before. `waits`: ends after `release(mark)`.
   */
  call(mark: string, options?: MarkOptions): Pick<HandCall, "name" | "input">;
  /** How often a call with this mark was begun on the hand, in all boots. */
  runs(handId: string, mark: string): Promise<number>;
  release(handId: string, mark: string): Promise<void>;
  /** The process that owns the hands dies at once, with everything it had started. */
  killBoot(): Promise<void>;
}

export interface MarkOptions {
  readonly waits?: boolean;
  readonly leaves?: boolean;
}

const EMPTY_RECIPE: Recipe = {
  provider: "bubblewrap",
  base: { type: "host" },
  mounts: [],
  network: { type: "none" },
};

let lastId = 0;

/** The contract of `Hands`, run by the test of every implementation. */
export function testHands(open: () => Promise<HandsWorld>): void {
  describe("Hands", () => {
    test("tells the same boot for every hand of one process", async () => {
      await using world = await open();
      const [first, second] = [uniqueId("hand"), uniqueId("hand")];
      const one = await world.hands.locate(first, never());
      expect(await world.hands.locate(second, never())).toEqual({ ...one, hand_id: second });
      expect(one).toEqual({
        installation_id: expect.stringMatching(/^inst_/),
        hand_id: first,
        hands_boot: expect.stringMatching(/./),
      });
    });

    test("rejects a search that was given up", async () => {
      await using world = await open();
      await expect(world.hands.locate("hand_given_up", AbortSignal.abort())).rejects.toThrow(
        expect.objectContaining({ name: "HandsUnavailableError" }),
      );
    });

    test("answers a call with what its tool gave", async () => {
      await using world = await open();
      const call = await makeCall(world, "hello");
      const outcome = await world.hands.execute(call, never());
      expect(outcome).toEqual(resultWith("hello"));
      expect(await world.runs(call.handId, "hello")).toBe(1);
    });

    test("runs a call once, however often it is sent", async () => {
      await using world = await open();
      const call = await makeCall(world, "once");
      const [first, second] = await Promise.all([
        world.hands.execute(call, never()),
        world.hands.execute(call, never()),
      ]);
      const third = await world.hands.execute({ ...call, epoch: call.epoch + 1 }, never());
      expect([first, second, third]).toEqual([first, first, first]);
      expect(first).toEqual(resultWith("once"));
      expect(await world.runs(call.handId, "once")).toBe(1);
    });

    test("lets a call go on when the waiting for it is aborted, and re-attaches to it", async () => {
      await using world = await open();
      const call = await makeCall(world, "lasting", { waits: true });
      const patience = new AbortController();
      const abandoned = world.hands.execute(call, patience.signal);
      await begun(world, call, "lasting");
      patience.abort();
      expect(await abandoned).toEqual({ type: "unavailable", message: expect.any(String) });
      const again = world.hands.execute({ ...call, epoch: call.epoch + 1 }, never());
      await world.release(call.handId, "lasting");
      expect(await again).toEqual(resultWith("lasting"));
      expect(await world.runs(call.handId, "lasting")).toBe(1);
    });

    test("does not send a call whose waiting is over before it began", async () => {
      await using world = await open();
      const call = await makeCall(world, "unsent");
      const outcome = await world.hands.execute(call, AbortSignal.abort());
      expect(outcome).toEqual({ type: "unavailable", message: expect.any(String) });
      expect(await world.runs(call.handId, "unsent")).toBe(0);
    });

    test("ends a running call that is cancelled", async () => {
      await using world = await open();
      const call = await makeCall(world, "endless", { waits: true });
      const running = world.hands.execute(call, never());
      await begun(world, call, "endless");
      await world.hands.cancel(call);
      expect(await running).toMatchObject({
        type: "result",
        content: expect.any(Array),
        is_error: true,
        outputs: expect.any(Array),
        cancelled: true,
      });
    });

    test("leaves the result of a call that had ended before it was cancelled", async () => {
      await using world = await open();
      const call = await makeCall(world, "finished");
      const outcome = await world.hands.execute(call, never());
      await world.hands.cancel(call);
      expect(await world.hands.execute(call, never())).toEqual(outcome);
    });

    test("refuses a call that was cancelled before it arrived", async () => {
      await using world = await open();
      const call = await makeCall(world, "early");
      await world.hands.cancel(call);
      expect(await world.hands.execute(call, never())).toEqual(refused());
      expect(await world.runs(call.handId, "early")).toBe(0);
    });

    test("refuses a lower epoch than it has seen for the session, and only for that session", async () => {
      await using world = await open();
      const seen = await makeCall(world, "seen");
      await world.hands.execute({ ...seen, epoch: 7 }, never());
      const late = { ...seen, ...world.call("late"), callId: uniqueId("call"), epoch: 6 };
      expect(await world.hands.execute(late, never())).toEqual(refused());
      expect(await world.runs(seen.handId, "late")).toBe(0);
      const other = { ...late, sessionId: uniqueId("session") };
      expect(await world.hands.execute(other, never())).toEqual(resultWith("late"));
    });

    test("ignores a cancel under a lower epoch than it has seen", async () => {
      await using world = await open();
      const call = await makeCall(world, "protected", { waits: true });
      const running = world.hands.execute({ ...call, epoch: 5 }, never());
      await begun(world, call, "protected");
      await world.hands.cancel({ ...call, epoch: 4 });
      await world.release(call.handId, "protected");
      expect(await running).toEqual(resultWith("protected"));
    });

    test("refuses a call whose result is settled", async () => {
      await using world = await open();
      const call = await makeCall(world, "committed");
      await world.hands.execute(call, never());
      await world.hands.settle(call);
      expect(await world.hands.execute(call, never())).toEqual(refused());
      expect(await world.runs(call.handId, "committed")).toBe(1);
    });

    test("keeps a call that is settled while it runs", async () => {
      await using world = await open();
      const call = await makeCall(world, "unsettled", { waits: true });
      const running = world.hands.execute(call, never());
      await begun(world, call, "unsettled");
      await world.hands.settle(call);
      await world.release(call.handId, "unsettled");
      expect(await running).toEqual(resultWith("unsettled"));
    });

    test("says a call is lost when its boot dies while it runs, and never runs it again", async () => {
      await using world = await open();
      const call = await makeCall(world, "doomed", { waits: true });
      const running = world.hands.execute(call, never());
      await begun(world, call, "doomed");
      await world.killBoot();
      expect(await running).toEqual({ type: "lost", message: expect.any(String) });
      const boot = await world.hands.locate(call.handId, never());
      expect(boot.hands_boot).not.toBe(call.handsBoot);
      expect(await world.hands.execute(call, never())).toEqual(await running);
      expect(await world.runs(call.handId, "doomed")).toBe(1);
    });

    test("says a call is lost when it is sent to a later boot than it was journalled for", async () => {
      await using world = await open();
      const call = await makeCall(world, "misdirected");
      await world.killBoot();
      const outcome = await world.hands.execute(call, never());
      expect(outcome).toEqual({ type: "lost", message: expect.any(String) });
      expect(await world.runs(call.handId, "misdirected")).toBe(0);
    });

    test("does not say of another installation's call that nothing of it runs, and does not run it", async () => {
      await using world = await open();
      const call = await makeCall(world, "elsewhere");
      const { installation_id } = await world.hands.locate(call.handId, never());
      for (const handsBoot of [bootId("boot_1", `${installation_id}0`), "boot_1"]) {
        const sent = { ...call, callId: uniqueId("call"), handsBoot };
        const outcome = await world.hands.execute(sent, never());
        expect(outcome).toEqual({
          type: "out_of_reach",
          message: expect.stringContaining("may still run there"),
        });
        await world.hands.cancel(sent);
        await world.hands.settle(sent);
      }
      expect(await world.runs(call.handId, "elsewhere")).toBe(0);
    });

    test("takes calls again after a boot died", async () => {
      await using world = await open();
      const before = await makeCall(world, "before");
      await world.hands.execute(before, never());
      await world.killBoot();
      const { hands_boot } = await world.hands.locate(before.handId, never());
      const after = { ...before, ...world.call("after"), callId: uniqueId("call") };
      const outcome = await world.hands.execute({ ...after, handsBoot: hands_boot }, never());
      expect(outcome).toEqual(resultWith("after"));
    });

    test("accepts cancel and settle for a boot that is gone", async () => {
      await using world = await open();
      const call = await makeCall(world, "gone");
      await world.killBoot();
      await world.hands.cancel(call);
      await world.hands.settle(call);
      expect(await world.hands.execute(call, never())).toMatchObject({ type: "lost" });
    });

    test("ends the calls of a hand that is disposed of and refuses later ones", async () => {
      await using world = await open();
      const call = await makeCall(world, "disposed", { waits: true });
      const running = world.hands.execute(call, never());
      await begun(world, call, "disposed");
      expect(await world.hands.dispose(call.handId)).toBe(true);
      expect(await running).toMatchObject({ type: "result", is_error: true, cancelled: true });
      const later = { ...call, callId: uniqueId("call") };
      expect(await world.hands.execute(later, never())).toEqual(refused());
    });

    test("gives what a running call leaves, and gives it again until it is committed", async () => {
      await using world = await open();
      const { hands } = world;
      const call = await makeCall(world, "report", { waits: true, leaves: true });
      const left = { path: "report", sha256: expect.any(String), size_bytes: 6 };
      const found = { ...left, found: expect.any(Number) };
      const given: (readonly OutputFile[])[] = [];
      const taken = Promise.withResolvers<void>();
      const running = hands.execute(call, never(), async (outputs) => {
        given.push(outputs);
        if (given.length === 2) taken.resolve();
        return given.length > 1;
      });
      await taken.promise;
      expect(given).toEqual([[found], [found]]);
      await world.release(call.handId, "report");
      expect(await running).toMatchObject({ is_error: false, outputs: [found] });
      await hands.settleOutputs(call.handId, given[0] ?? []);
      expect(await hands.execute(call, never())).toMatchObject({ outputs: [] });
    });

    test("finds again what a boot that died had not been heard to be rid of", async () => {
      await using world = await open();
      const { hands } = world;
      const call = await makeCall(world, "draft", { waits: true, leaves: true });
      const first = Promise.withResolvers<readonly OutputFile[]>();
      const running = hands.execute(call, never(), async (outputs) => {
        first.resolve(outputs);
        return false;
      });
      const [before] = await first.promise;
      await world.killBoot();
      expect(await running).toMatchObject({ type: "lost" });
      const [after, ...more] = (await hands.recover(call, never())).outputs;
      expect([after, more]).toEqual([{ ...before, found: expect.any(Number) }, []]);
      expect(after?.found).toBeGreaterThan(before?.found ?? 0);
    });

    test("runs calls of different hands side by side", async () => {
      await using world = await open();
      const slow = await makeCall(world, "slow", { waits: true });
      const quick = await makeCall(world, "quick");
      const waiting = world.hands.execute(slow, never());
      await begun(world, slow, "slow");
      expect(await world.hands.execute(quick, never())).toEqual(resultWith("quick"));
      await world.release(slow.handId, "slow");
      expect(await waiting).toEqual(resultWith("slow"));
    });
  });
}

async function makeCall(world: HandsWorld, mark: string, options?: MarkOptions): Promise<HandCall> {
  const handId = uniqueId("hand");
  const { hands_boot } = await world.hands.locate(handId, never());
  return {
    workspaceId: "wrkspc_test",
    sessionId: uniqueId("session"),
    callId: uniqueId("call"),
    handId,
    handsBoot: hands_boot,
    epoch: 1,
    recipe: EMPTY_RECIPE,
    ...world.call(mark, options),
  };
}

async function begun(world: HandsWorld, call: HandCall, mark: string): Promise<void> {
  await expect.poll(() => world.runs(call.handId, mark), { timeout: 20_000 }).toBe(1);
}

/** What is told beside it, such as of the sandbox, is another test's. */
function resultWith(text: string): CallOutcome {
  return expect.objectContaining({
    type: "result",
    content: [{ type: "text", text: expect.stringContaining(text) }],
    is_error: false,
    outputs: expect.any(Array),
    cancelled: false,
  });
}

function refused(): CallOutcome {
  return { type: "refused", message: expect.any(String) };
}

function uniqueId(kind: string): string {
  lastId += 1;
  return `${kind}_${process.pid}_${lastId}`;
}

function never(): AbortSignal {
  return new AbortController().signal;
}
