import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type HandsWorld, testHands } from "../core/ports/hands.testsuite.ts";
import type { CallOutcome, HandCall } from "../core/ports/hands.ts";
import { systemClock } from "../lib/system-clock.ts";
import { handsSpawner } from "../serve/spawn-hands.ts";
import { LocalBlobs } from "../store/local-blobs.ts";
import { makeCall } from "./fake/make-call.ts";
import { killHands } from "./fake/marking-world.ts";
import { LocalHands } from "./protocol/hands-client.ts";
import { HandsConnection } from "./protocol/hands-connection.ts";
import { readHandsFile } from "./protocol/hands-file.ts";
import { BubblewrapProvider } from "./sandbox/bubblewrap/bubblewrap-provider.ts";
import { removeFolder } from "./sandbox/local/remove-folder.ts";

/** Seconds that nobody else on this machine sleeps, so that these processes can be told. */
const LONG = `1000.${process.pid}`;
const SOURCE = join(import.meta.dirname, "..");

/** `drover hands` as a server starts it, with real sandboxes. */
describe("drover hands", () => {
  testHands(openWorld);

  test("keeps variables, functions and the folder of the shell from call to call", async () => {
    await using world = await openWorld();
    await bash(world, "cd /tmp; answer=42; double() { echo $(($1 * 2)); }");
    expect(textOf(await bash(world, "pwd; double $answer"))).toContain("/tmp\n84");
  });

  test("re-attaches to a command whose server was killed, in the shell it was in", async () => {
    await using world = await openWorld();
    await bash(world, "cd /tmp; answer=42");
    const call = await callOf(world, "echo begun; sleep 2; echo $answer in $(pwd)");
    const server = await startServer(world, call);
    await untilRunning(world, call);
    process.kill(-(server.pid ?? 0), "SIGKILL");
    await once(server, "exit");
    const outcome = await world.hands.execute({ ...call, epoch: 2 }, never());
    expect(textOf(outcome)).toContain("begun\n42 in /tmp");
    expect(textOf(await bash(world, "pwd; echo $answer", 2))).toContain("/tmp\n42");
  });

  test("interrupts a command whose server was killed", async () => {
    await using world = await openWorld();
    const call = await callOf(world, `echo begun; sleep ${LONG}`);
    const server = await startServer(world, call);
    await untilRunning(world, call);
    process.kill(-(server.pid ?? 0), "SIGKILL");
    await once(server, "exit");
    await world.hands.cancel({ ...call, epoch: 2 });
    const outcome = await world.hands.execute({ ...call, epoch: 2 }, never());
    expect(outcome).toMatchObject({ type: "result", is_error: true, cancelled: true });
    expect(textOf(await bash(world, "echo alive", 2))).toContain("alive");
  });

  test("ends a command at its time-out though no server is alive", async () => {
    await using world = await openWorld();
    const call = await callOf(world, `echo begun; sleep ${LONG}`, { timeout_ms: 3_000 });
    const server = await startServer(world, call);
    await untilRunning(world, call);
    process.kill(-(server.pid ?? 0), "SIGKILL");
    await once(server, "exit");
    const outcome = await world.hands.execute({ ...call, epoch: 2 }, never());
    expect(outcome).toMatchObject({ type: "result", is_error: true, cancelled: false });
  });

  test("tells once that a sandbox was killed from outside; the next call has the same files", async () => {
    await using world = await openWorld();
    await bash(world, "echo kept > /workspace/file");
    const leave =
      "cd /mnt/session/outputs; printf last > words; ln -s /etc/passwd link; ln -s ../uploads up";
    const call = await callOf(world, `${leave}; echo begun; sleep ${LONG}`);
    const running = world.hands.execute(call, never());
    await untilRunning(world, call);
    for (const pid of await processesOf(`sleep\0${LONG}`)) process.kill(pid, "SIGSTOP");
    await killSandbox(world);
    const outcome = await running;
    expect(outcome).toMatchObject({ type: "result", is_error: true, cancelled: false });
    expect(textOf(outcome)).toContain("outcome is unknown");
    expect(outcome).toMatchObject({ outputs: [{ path: "words", size_bytes: 4 }] });
    expect(textOf(await bash(world, "cat /workspace/file"))).toContain("kept");
    expect(await processesOf(`sleep\0${LONG}`)).toEqual([]);
  });

  test("leaves no process of a sandbox alive when the hands are killed", async () => {
    await using world = await openWorld();
    const call = await callOf(world, `setsid sleep ${LONG} & echo begun; sleep ${LONG}`);
    const running = world.hands.execute(call, never());
    await untilRunning(world, call);
    await world.killBoot();
    expect(await running).toMatchObject({ type: "lost" });
    // "Lost" says that nothing of it can still happen.
    expect(await processesOf(`sleep\0${LONG}`)).toEqual([]);
  });

  test("gives the files that a call left, their content in the blob store", async () => {
    await using world = await openWorld();
    const outcome = await bash(world, "printf '# Report' > /mnt/session/outputs/report.md");
    expect(outcome).toMatchObject({ outputs: [{ path: "report.md", size_bytes: 8 }] });
    const sha256 = outcome.type === "result" ? (outcome.outputs[0]?.sha256 ?? "") : "";
    const blobs = await LocalBlobs.open(join(world.dataDir, "blobs"));
    const content = (await blobs.get("wrkspc_1", sha256)) ?? [];
    const chunks: Uint8Array[] = [];
    for await (const chunk of content) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toBe("# Report");
    await world.hands.settleOutputs("hand_1", outcome.type === "result" ? outcome.outputs : []);
    expect(await bash(world, "true")).toMatchObject({ outputs: [] });
  });

  test("deletes the workspace of a hand that is disposed of", async () => {
    await using world = await openWorld();
    await bash(world, "echo x > /workspace/file");
    expect(await readdir(join(world.dataDir, "hands"))).toContain("hand_1");
    expect(await world.hands.dispose("hand_1")).toBe(true);
    expect(await readdir(join(world.dataDir, "hands"))).not.toContain("hand_1");
  });
});

interface World extends HandsWorld {
  readonly dataDir: string;
  readonly hands: LocalHands;
}

async function openWorld(): Promise<World> {
  const dataDir = await mkdtemp(join(tmpdir(), "drover-hands-"));
  const workspace = (handId: string) => join(dataDir, "hands", handId, "workspace");
  const hands = new LocalHands({
    dataDir,
    start: handsSpawner(command(dataDir)),
    clock: systemClock,
  });
  return {
    dataDir,
    hands,
    call: (mark, { waits = false, leaves = false } = {}) => {
      const leave = leaves ? `printf ${mark} > /mnt/session/outputs/${mark}; ` : "";
      const wait = waits ? `until [ -e go-${mark} ]; do sleep 0.05; done; ` : "";
      const command = `${leave}echo ${mark} >> marks; ${wait}echo ${mark}`;
      return { name: "bash", input: { command } };
    },
    runs: async (handId, mark) => {
      const lines = await readFile(join(workspace(handId), "marks"), "utf8").catch(() => "");
      return lines.split("\n").filter((line) => line === mark).length;
    },
    release: (handId, mark) => writeFile(join(workspace(handId), `go-${mark}`), ""),
    killBoot: () => killHands(dataDir),
    [Symbol.asyncDispose]: async () => {
      hands.close();
      await killHands(dataDir);
      await new BubblewrapProvider({ dataFolder: dataDir, blobPath: () => "" }).reap();
      await removeFolder(dataDir, []);
    },
  };
}

function command(dataDir: string) {
  const args = [
    "--conditions=drover-source",
    join(SOURCE, "cli/main.ts"),
    "--data",
    dataDir,
    "hands",
  ];
  // The workspace is a folder of the host, which these tests look into.
  const env = { PATH: "/usr/bin:/bin", DROVER_SANDBOX_DISK_MB: "0" };
  return { dataDir, command: process.execPath, args, env };
}

let calls = 0;

async function callOf(
  world: World,
  script: string,
  input: Record<string, unknown> = {},
): Promise<HandCall> {
  const { hands_boot } = await world.hands.locate("hand_1", never());
  calls += 1;
  return makeCall({
    callId: `sevt_${calls}`,
    handsBoot: hands_boot,
    input: { command: script, ...input },
  });
}

async function bash(world: World, script: string, epoch = 1): Promise<CallOutcome> {
  return await world.hands.execute({ ...(await callOf(world, script)), epoch }, never());
}

/** A server's part of a call: a process that sends it and waits. */
async function startServer(world: World, call: HandCall): Promise<ChildProcess> {
  const script = `
    import { LocalHands } from ${JSON.stringify(join(SOURCE, "hands/protocol/hands-client.ts"))};
    import { systemClock } from ${JSON.stringify(join(SOURCE, "lib/system-clock.ts"))};
    const start = () => Promise.reject(new Error("there are hands already"));
    const hands = new LocalHands({ dataDir: ${JSON.stringify(world.dataDir)}, start, clock: systemClock });
    await hands.execute(${JSON.stringify(call)}, new AbortController().signal);
  `;
  const args = ["--conditions=drover-source", "--input-type=module", "-e", script];
  const server = spawn(process.execPath, args, {
    detached: true,
    stdio: ["ignore", "inherit", "inherit"],
  });
  onTestFinished(() => {
    if (server.exitCode === null && server.signalCode === null) server.kill("SIGKILL");
  });
  return server;
}

async function untilRunning(world: World, call: HandCall): Promise<void> {
  const file = await readHandsFile(world.dataDir);
  if (!file) throw new Error("there are no hands");
  const connection = new HandsConnection(file);
  const path = `/v1/calls/${call.callId}/output`;
  const output = async () => {
    const { body } = await connection.send({ method: "GET", path }, never());
    const data = body instanceof Object && "data" in body ? String(body.data) : "";
    return Buffer.from(data, "base64").toString();
  };
  await expect.poll(output, { timeout: 20_000 }).toContain("begun");
  connection.close();
}

/** Kills the processes that hold the sandbox together, as an operator or the kernel would. */
async function killSandbox(world: World): Promise<void> {
  const file = await readHandsFile(world.dataDir);
  const children = await readFile(`/proc/${file?.pid}/task/${file?.pid}/children`, "utf8");
  for (const pid of children.trim().split(" ")) process.kill(Number(pid), "SIGKILL");
}

/** The ids of the processes with this command line, its arguments divided by NUL. */
async function processesOf(commandLine: string): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const line = await readFile(`/proc/${name}/cmdline`, "utf8").catch(() => "");
    if (line === `${commandLine}\0`) found.push(Number(name));
  }
  return found;
}

function textOf(outcome: CallOutcome): string {
  const block = outcome.type === "result" ? outcome.content[0] : undefined;
  return block?.type === "text" ? block.text : `${outcome.type}`;
}

function never(): AbortSignal {
  return new AbortController().signal;
}
