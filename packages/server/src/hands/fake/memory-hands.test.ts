import { expect, test } from "vitest";
import { type HandsWorld, testHands } from "../../core/ports/hands.testsuite.ts";
import type { HandCall } from "../../core/ports/hands.ts";
import { MemoryHands } from "./memory-hands.ts";

testHands(async () => openWorld());

function openWorld(): HandsWorld {
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const begun: string[] = [];
  const gate = (handId: string, mark: string) => {
    const key = `${handId}/${mark}`;
    const found = gates.get(key) ?? Promise.withResolvers<void>();
    gates.set(key, found);
    return found;
  };
  const hands = new MemoryHands({
    tools: {
      mark: async ({ handId, input }, _signal, leave) => {
        const path = String(input["mark"]);
        if (input["leaves"]) leave({ path, sha256: "0".repeat(64), size_bytes: path.length });
        begun.push(`${handId}/${input["mark"]}`);
        if (input["waits"]) await gate(handId, String(input["mark"])).promise;
        return String(input["mark"]);
      },
    },
  });
  return {
    hands,
    call: (mark, options = {}) => ({ name: "mark", input: { mark, ...options } }),
    runs: async (handId, mark) => begun.filter((entry) => entry === `${handId}/${mark}`).length,
    release: async (handId, mark) => gate(handId, mark).resolve(),
    killBoot: async () => hands.kill(),
    [Symbol.asyncDispose]: async () => hands.goAway(),
  };
}

test("is unavailable while it is away, and says the call is lost once another boot is there", async () => {
  const hands = new MemoryHands({ tools: { "*": () => "done" } });
  const signal = new AbortController().signal;
  const { hands_boot } = await hands.locate("hand_1", signal);
  hands.goAway();
  const call: HandCall = {
    workspaceId: "wrkspc_1",
    sessionId: "sesn_1",
    callId: "sevt_1",
    handId: "hand_1",
    handsBoot: hands_boot,
    epoch: 1,
    name: "bash",
    input: { command: "true" },
    recipe: {
      provider: "bubblewrap",
      base: { type: "host" },
      mounts: [],
      network: { type: "none" },
    },
  };
  await expect(hands.locate("hand_1", signal)).rejects.toThrow("no hands can be started");
  expect(await hands.execute(call, signal)).toMatchObject({ type: "unavailable" });
  hands.comeBack();
  expect(await hands.execute(call, signal)).toMatchObject({ type: "lost" });
  expect(hands.executions).toEqual([]);
});

test("keeps a list of every run", async () => {
  const hands = new MemoryHands({
    tools: {
      fails: () => {
        throw new Error("no such thing");
      },
    },
  });
  const signal = new AbortController().signal;
  const { hands_boot } = await hands.locate("hand_1", signal);
  const outcome = await hands.execute(
    {
      workspaceId: "wrkspc_1",
      sessionId: "sesn_1",
      callId: "sevt_1",
      handId: "hand_1",
      handsBoot: hands_boot,
      epoch: 3,
      name: "fails",
      input: {},
      recipe: {
        provider: "bubblewrap",
        base: { type: "host" },
        mounts: [],
        network: { type: "none" },
      },
    },
    signal,
  );
  expect(outcome).toMatchObject({ is_error: true, content: [{ text: "no such thing" }] });
  expect(hands.executions).toEqual([
    {
      callId: "sevt_1",
      sessionId: "sesn_1",
      handId: "hand_1",
      name: "fails",
      boot: hands_boot,
      epoch: 3,
    },
  ]);
});
