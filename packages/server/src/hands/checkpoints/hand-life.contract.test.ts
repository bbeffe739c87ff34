import { createHash } from "node:crypto";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { HandReport } from "../../core/ports/hand-records.ts";
import type {
  CallOutcome,
  HandCall,
  HandFiles,
  MemoryMount,
  OutputFile,
  Recipe,
} from "../../core/ports/hands.ts";
import { systemClock } from "../../lib/system-clock.ts";
import { blobPath } from "../../store/blob-path.ts";
import { LocalBlobs } from "../../store/local-blobs.ts";
import { makeCall } from "../fake/make-call.ts";
import { LocalHands } from "../protocol/hands-client.ts";
import { type HandsLifeOptions, liveAsHands } from "../runtime/hands-life.ts";
import { BubblewrapProvider } from "../sandbox/bubblewrap/bubblewrap-provider.ts";
import { removeFolder } from "../sandbox/local/remove-folder.ts";
import { executeTool } from "../toolset/execute-tool.ts";

/** Hands with real sandboxes, in this process: what becomes of files that nobody uses. */

const NEVER = new AbortController().signal;
const BEGUN: HandFiles = { line: 1, is_ahead: false };

const MEMORY: MemoryMount = {
  type: "memory_store",
  mount_path: "/mnt/memory/notes",
  memory_store_id: "memstore_1",
  access: "read_write",
};

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "drover-life-"));
  onTestFinished(() => removeFolder(path, []));
  return path;
}

interface Machine {
  readonly dataDir: string;
  readonly hands: LocalHands;
  readonly reported: readonly string[];
  run(command: string, files?: HandFiles, recipe?: Recipe): Promise<CallOutcome>;
  /** What is told of a hand's files, as soon as something is. */
  told(): Promise<HandReport>;
  stop(): Promise<void>;
}

let calls = 0;

async function startMachine(
  blobsFolder: string,
  keeping: HandsLifeOptions["keeping"] = {},
  dataDir?: string,
  sandboxIdleMs = 50,
): Promise<Machine> {
  const data = dataDir ?? (await folder());
  const ending = new AbortController();
  const reported: string[] = [];
  const life = liveAsHands({
    dataDir: data,
    openAdapters: async () => ({
      provider: new BubblewrapProvider({
        dataFolder: data,
        blobPath: (workspaceId, sha256) => blobPath(blobsFolder, workspaceId, sha256),
      }),
      blobs: await LocalBlobs.open(blobsFolder),
      runTool: executeTool,
      clock: systemClock,
      report: (event) => reported.push(event),
    }),
    signal: ending.signal,
    times: { sandboxIdleMs, lookMs: 20 },
    keeping,
  });
  const stop = async () => {
    ending.abort();
    await life;
  };
  onTestFinished(stop);
  const start = () => Promise.resolve();
  const hands = new LocalHands({ dataDir: data, start, clock: systemClock });
  onTestFinished(() => hands.close());
  return {
    ...{ dataDir: data, hands, reported, stop },
    run: async (command, files = BEGUN, recipe = makeCall().recipe) => {
      calls += 1;
      const { hands_boot } = await hands.locate("hand_1", NEVER);
      const call: HandCall = makeCall({
        ...{ callId: `sevt_${calls}`, handsBoot: hands_boot, input: { command }, files, recipe },
      });
      const outcome = await hands.execute(call, NEVER);
      await hands.settle(call);
      return outcome;
    },
    told: async () => {
      let found: HandReport | undefined;
      const look = async () => {
        [found] = await hands.reports();
        return found;
      };
      await expect.poll(look, { timeout: 20_000 }).toBeDefined();
      if (found === undefined) throw new Error("nothing was told");
      return found;
    },
  };
}

function textOf(outcome: CallOutcome): string {
  const block = outcome.type === "result" ? outcome.content[0] : undefined;
  return block?.type === "text" ? block.text.trim() : outcome.type;
}

const ahead = (line: number): HandFiles => ({ line, is_ahead: true });

test("an idle sandbox is kept and ended; its files are here again, and elsewhere with what was kept", async () => {
  const blobs = await folder();
  const here = await startMachine(blobs);
  await here.run("mkdir -p a/b && echo one > a/b/file && ln -s a/b/file link; cd a; x=1");
  const report = await here.told();
  expect(report).toMatchObject({
    ...{ workspace_id: "wrkspc_1", hand_id: "hand_1", line: 1, problem: null },
    call_ids: [`sevt_${calls}`],
  });
  await here.hands.acknowledge({ ...report, taken_at: "2026-01-01T00:00:00.000Z" });
  expect(await here.hands.reports()).toEqual([report]);
  await here.hands.acknowledge(report);
  expect(await here.hands.reports()).toEqual([]);
  // The shell is gone with the sandbox; nothing else is.
  expect(textOf(await here.run("pwd; cat link; echo $x end", ahead(1)))).toBe(
    "/workspace\none\nend",
  );
  const again = await here.told();
  expect(again.call_ids).toHaveLength(2);
  const checkpoint = again.checkpoint ?? undefined;
  if (checkpoint === undefined) throw new Error("nothing was kept");
  const there = await startMachine(blobs);
  expect(await there.run("true", ahead(1))).toEqual({ type: "files_gone" });
  expect(readdirSync(join(there.dataDir, "hands"))).toEqual([]);
  const moved = { line: 2, is_ahead: false, checkpoint };
  expect(textOf(await there.run("cat link && echo two > a/b/file", moved))).toBe("one");
  expect(textOf(await there.run("cat link", { ...moved, is_ahead: true }))).toBe("two");
  // What is here is an older line's: it is not taken for the other, and does not come back by itself.
  expect(await here.run("true", ahead(2))).toEqual({ type: "files_gone" });
  expect(textOf(await here.run("cat link; rm link", { line: 3, is_ahead: false }))).toMatch(
    /No such file/,
  );
  expect(await here.run("true", ahead(2))).toEqual({ type: "files_gone" });
});

test("files that are too many here go, the longest unused first, and come back by themselves", async () => {
  const blobs = await folder();
  const machine = await startMachine(blobs, { cacheBytesMax: 0 });
  await machine.run("echo one > file; mkdir closed; chmod 0 closed");
  const report = await machine.told();
  const workspace = join(machine.dataDir, "hands/hand_1/workspace");
  expect(existsSync(workspace)).toBe(true);
  await machine.hands.acknowledge(report);
  await expect.poll(() => existsSync(workspace)).toBe(false);
  // Also after the hands began anew, and though a server that was late says what it knew before.
  await machine.stop();
  const next = await startMachine(blobs, { cacheBytesMax: 0 }, machine.dataDir);
  expect(textOf(await next.run("cat file", ahead(1)))).toBe("one");
});

test("what was done on an earlier line is none of the hand's, and holds nothing up", async () => {
  const machine = await startMachine(await folder());
  const { hands } = machine;
  const { hands_boot: handsBoot } = await hands.locate("hand_1", NEVER);
  const command = "echo old > /mnt/session/outputs/old.txt; sleep 600 & echo begun";
  const left = makeCall({ callId: "sevt_left", handsBoot, input: { command }, files: BEGUN });
  // Another machine has answered it meanwhile, so nobody settles it here.
  expect(textOf(await hands.execute(left, NEVER))).toBe("begun");
  const hand = { workspaceId: "wrkspc_1", handId: "hand_1", recipe: left.recipe };
  const look = async (line: number) => [
    await hands.lookAtOutputs({ ...hand, line }, NEVER),
    (await hands.recover({ ...hand, line }, NEVER)).outputs,
  ];
  const old = expect.objectContaining({ path: "old.txt" });
  expect(await look(3)).toEqual([[], []]);
  expect(await look(1)).toEqual([[old], [old]]);
  const files = { line: 3, is_ahead: false };
  const callId = "sevt_anew";
  const input = { command: "ls /mnt/session/outputs; pgrep sleep; echo new" };
  const given: OutputFile[] = [];
  const anew = makeCall({ callId, handsBoot, input, files });
  const outcome = await hands.execute(anew, NEVER, async (outputs) => {
    given.push(...outputs);
    return true;
  });
  expect([textOf(outcome), given]).toEqual(["new", []]);
  await hands.settle(anew);
  expect(await look(3)).toEqual([[], []]);
  expect(await machine.told()).toMatchObject({ line: 3, call_ids: [callId] });
});

test("outputs that are committed are not given again, though their sandbox, its files or these hands were gone", async () => {
  const blobs = await folder();
  let machine = await startMachine(blobs, { cacheBytesMax: 0 });
  const recipe = makeCall().recipe;
  const hand = { workspaceId: "wrkspc_1", handId: "hand_1", recipe, line: 1 };
  const given = async () => {
    const { outputs } = await machine.hands.recover(hand, NEVER);
    await machine.hands.settleOutputs("hand_1", outputs);
    return outputs.map(({ path }) => path);
  };
  const write = "cd /mnt/session/outputs && echo one > kept.txt && echo one > changed.txt";
  expect(await machine.run(write)).toMatchObject({ type: "result" });
  expect(await given()).toEqual(expect.arrayContaining(["kept.txt", "changed.txt"]));
  const report = await machine.told();
  await machine.hands.acknowledge(report);
  // From here its files come out of what was kept of them.
  await expect.poll(() => machine.reported).toContain("files_evicted");
  expect(existsSync(join(machine.dataDir, "hands/hand_1/workspace"))).toBe(false);
  expect(await given()).toEqual([]);
  await machine.stop();
  machine = await startMachine(blobs, { checkpointBytesMax: 0 }, machine.dataDir);
  expect(await given()).toEqual([]);
  const change = "cd /mnt/session/outputs && touch kept.txt && echo two > changed.txt";
  await machine.run(change, ahead(1));
  expect(await given()).toEqual(["changed.txt"]);
  await machine.hands.dispose("hand_1");
  expect(readdirSync(join(machine.dataDir, "hand-outputs"))).toEqual([]);
});

test("what was written into a memory store after the last result keeps its files here until the next has it", async () => {
  // Idle only after what is written after the result has been written.
  const machine = await startMachine(await folder(), { cacheBytesMax: 0 }, undefined, 3_000);
  const { hands, dataDir } = machine;
  const recipe = { ...makeCall().recipe, mounts: [MEMORY] };
  const bring = async (files: HandFiles) => {
    const { hands_boot: handsBoot } = await hands.locate("hand_1", NEVER);
    const stores = [{ memory_store_id: MEMORY.memory_store_id, revision: 1, entries: [] }];
    const offer = { handId: "hand_1", handsBoot, files, acknowledged: null, stores, contents: [] };
    expect(await hands.offer(offer, NEVER)).toEqual({ type: "taken", missing: [] });
  };
  await bring(BEGUN);
  const write = "until [ -e go ]; do sleep 0.02; done; echo late > /mnt/memory/notes/late.md";
  const first = await machine.run(
    `echo one > /mnt/memory/notes/one.md; (${write}) > log 2>&1 &`,
    BEGUN,
    recipe,
  );
  expect(first).toMatchObject({ memory: { changes: [{ path: "/one.md" }] } });
  const hand = join(dataDir, "hands/hand_1");
  writeFileSync(join(hand, "workspace/go"), "");
  const late = join(hand, "memory/stores/memstore_1/late.md");
  await expect.poll(() => existsSync(late)).toBe(true);
  await hands.acknowledge(await machine.told());
  // A hand that goes from here, because nothing is to be held back of it.
  const { hands_boot: handsBoot } = await hands.locate("hand_2", NEVER);
  const other = makeCall({ callId: "sevt_other", handId: "hand_2", handsBoot, files: BEGUN });
  await hands.execute(other, NEVER);
  await hands.settle(other);
  await hands.acknowledge(await machine.told());
  await expect.poll(() => machine.reported).toContain("files_evicted");
  expect(existsSync(join(dataDir, "hands/hand_2/workspace"))).toBe(false);
  expect(existsSync(late)).toBe(true);
  await bring(ahead(1));
  const next = await machine.run("true", ahead(1), recipe);
  expect(next).toMatchObject({
    memory: { changes: expect.arrayContaining([expect.objectContaining({ path: "/late.md" })]) },
  });
  await hands.acknowledge(await machine.told());
  await expect.poll(() => existsSync(late)).toBe(false);
});

test("memory stores are there with files that begin anew, whichever line was there before", async () => {
  const machine = await startMachine(await folder());
  const { hands } = machine;
  const mounts = [MEMORY];
  const recipe = { ...makeCall().recipe, mounts };
  const sha256 = createHash("sha256").update("known").digest("hex");
  const bring = async (files: HandFiles) => {
    const { hands_boot: handsBoot } = await hands.locate("hand_1", NEVER);
    const offer = { handId: "hand_1", handsBoot, files, acknowledged: null };
    const entries = [{ path: "/a.md", sha256, size_bytes: 5 }];
    const stores = [{ memory_store_id: MEMORY.memory_store_id, revision: 1, entries }];
    await hands.offer({ ...offer, stores, contents: [] }, NEVER);
    return await hands.offer({ ...offer, stores: [], contents: ["known"] }, NEVER);
  };
  const read = async (files: HandFiles) => {
    expect(await bring(files)).toEqual({ type: "taken", missing: [] });
    return await machine.run("cat /mnt/memory/notes/a.md; ls", files, recipe);
  };
  expect(textOf(await read(BEGUN))).toBe("known");
  await machine.run("touch old", ahead(1), recipe);
  expect(textOf(await read({ line: 3, is_ahead: false }))).toBe("known");
  // Where nothing may begin, nothing is brought.
  await bring(ahead(4));
  expect(await machine.run("true", ahead(4), recipe)).toEqual({ type: "files_gone" });
  expect(textOf(await read({ line: 5, is_ahead: false }))).toBe("known");
});

test("what is more than is kept stays here, and that is told", async () => {
  const blobs = await folder();
  const machine = await startMachine(blobs, { checkpointBytesMax: 1_000_000, cacheBytesMax: 0 });
  await machine.run("head -c 3000000 /dev/urandom > large");
  const report = await machine.told();
  expect(report).toMatchObject({ checkpoint: null, problem: expect.stringContaining("1000000") });
  await machine.hands.acknowledge(report);
  expect(textOf(await machine.run("stat -c %s large; ls -A /mnt/session/.spill", ahead(1)))).toBe(
    "3000000",
  );
  // Tried again once something changed.
  await machine.run("rm large", ahead(1));
  let next = await machine.told();
  // Told of the call before, if the machine had time for it in between.
  if (next.call_ids.at(-1) !== `sevt_${calls}`) {
    await machine.hands.acknowledge(next);
    next = await machine.told();
  }
  expect(next.checkpoint).not.toBeNull();
});

test("hands that begin anew keep what those before did not get to", async () => {
  const blobs = await folder();
  const first = await startMachine(blobs, { checkpointBytesMax: 0 });
  await first.run("echo one > file");
  await first.stop();
  const next = await startMachine(blobs, {}, first.dataDir);
  expect(await next.told()).toMatchObject({ call_ids: [`sevt_${calls}`], problem: null });
});
