import { readFileSync } from "node:fs";
import type { Duplex, Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { SandboxUnavailableError } from "../../../core/ports/sandbox.ts";
import type { LimitHit } from "../../../core/sandboxes/limits.ts";
import { failPoint } from "../../../lib/fail-point.ts";
import type { ExitListeners } from "../../egress/sandbox-exit.ts";
import type { GroupLimits, SandboxGroup } from "../cgroups/sandbox-group.ts";
import {
  endRecorded,
  forgetRecord,
  type LaunchRecord,
  type ProcessRecord,
  saveRecord,
} from "../local/process-record.ts";
import { identify } from "../local/process-table.ts";
import type { LaunchedSandbox } from "../local/sandbox-launcher.ts";
import { AttachedOutput } from "./attached-output.ts";
import { containerGroup } from "./container-group.ts";
import {
  containerName,
  containerStopped,
  type Inspected,
  inspectContainer,
  removeContainer,
} from "./containers.ts";
import type { EngineClient } from "./engine-client.ts";
import { enterNetwork } from "./enter-network.ts";
import { explainRefusal } from "./explain-refusal.ts";

const END_MS = 15_000;
/** For the first process to end by itself alone. */
const ALONE_MS = 6_000;
/** For what is removed without delay where nothing is in the way. */
const REMOVAL_MS = 2_000;
/**
 * For the engine to notice that a container has stopped, before it is told to remove it. Told earlier it kills what is
 * dead, and the shim of containerd 1.6 may wait for that for ever, with the container and all that ask for it.
 */
const STOPPED_MS = 10_000;

export interface ContainerLaunch {
  readonly engine: EngineClient;
  /** Hears of a container whose processes are gone and that no engine could be told to remove. */
  readonly onLeft: (container: string) => void;
  readonly handFolder: string;
  readonly record: LaunchRecord;
  /** What `POST /containers/create` takes. */
  readonly body: unknown;
  /** What is told when it is met. */
  readonly limits: GroupLimits;
  /** How a way out is made into its network; undefined where it is to have none. */
  readonly exit: { readonly perlPath: string; readonly script: string } | undefined;
  /** Of its own, if it has one. */
  readonly disk?: ContainerDisk | undefined;
}

/** What the writable folders are in, to be seen by the engine until the container has them. */
export interface ContainerDisk {
  showing<T>(use: () => Promise<T>): Promise<T>;
  /** Unmounts what is left after it went wrong. */
  clear(): Promise<void>;
}

/** What is known of a container that runs. */
interface Running {
  readonly stream: Duplex;
  readonly output: AttachedOutput;
  readonly record: LaunchRecord | ProcessRecord;
  readonly group: SandboxGroup | undefined;
  readonly listeners: ExitListeners | undefined;
}

/** A container and the one stream to the agent in it. */
export class DockerSandbox implements LaunchedSandbox {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly record: LaunchRecord | ProcessRecord;
  readonly exited: Promise<string>;
  readonly listeners: ExitListeners | undefined;
  readonly #launch: ContainerLaunch;
  readonly #stream: Duplex;
  readonly #group: SandboxGroup | undefined;
  #isKilledForMemory = false;
  #isEnded = false;

  /** See `SandboxLauncher.launch`. */
  static async start(launch: ContainerLaunch, signal: AbortSignal): Promise<DockerSandbox> {
    saveRecord(launch.handFolder, launch.record);
    try {
      failPoint("hands.provision.after_group");
      const running = () => run(launch, signal);
      return new DockerSandbox(launch, await (launch.disk?.showing(running) ?? running()));
    } catch (error) {
      await end(launch, launch.record);
      await launch.disk?.clear();
      forgetRecord(launch.handFolder, launch.record);
      throw explainRefusal(error);
    }
  }

  private constructor(launch: ContainerLaunch, running: Running) {
    this.#launch = launch;
    this.#stream = running.stream;
    this.#group = running.group;
    this.stdin = running.stream;
    this.stdout = running.output;
    this.record = running.record;
    this.listeners = running.listeners;
    this.exited = this.#watch(running.output);
  }

  async end(): Promise<void> {
    this.#group?.observe();
    this.#isEnded = true;
    await end(this.#launch, this.record);
    this.#stream.destroy();
    await this.exited;
  }

  takeLimitHits(): readonly LimitHit[] {
    const hits = this.#group?.takeHits() ?? [];
    const { memoryBytes } = this.#launch.limits;
    if (!this.#isKilledForMemory || memoryBytes === undefined) return hits;
    this.#isKilledForMemory = false;
    if (hits.some(({ type }) => type === "memory")) return hits;
    return [...hits, { type: "memory", limitBytes: memoryBytes }];
  }

  /** Never rejects. */
  async #watch(output: AttachedOutput): Promise<string> {
    await new Promise((resolve) => this.#stream.once("close", resolve));
    this.#group?.observe();
    // Nobody has to be asked why; and an engine that is at it lets others wait.
    if (this.#isEnded) return "it was ended";
    const { engine, record } = this.#launch;
    const name = containerName(record.launch_id);
    const found = await inspectContainer(engine, name).catch(() => undefined);
    this.#isKilledForMemory = found?.State.OOMKilled === true;
    const status = found === undefined ? "its container is gone" : statusOf(found);
    const message = output.message.trim();
    return message === "" ? status : `${message} (${status})`;
  }
}

function statusOf({ State: { Running: isRunning, ExitCode } }: Inspected): string {
  return isRunning ? "the engine ended the connection" : `exit status ${ExitCode}`;
}

async function run(launch: ContainerLaunch, signal: AbortSignal): Promise<Running> {
  const { engine, record, body } = launch;
  const name = containerName(record.launch_id);
  // What was sent is waited for: an engine goes on with what nobody waits for any longer.
  checkWanted(signal);
  await engine.ask({ method: "POST", path: `/containers/create?name=${name}`, json: body });
  checkWanted(signal);
  const stream = await engine.attach(name);
  const output = new AttachedOutput(stream);
  try {
    await engine.ask({ method: "POST", path: `/containers/${name}/start` });
    checkWanted(signal);
    const found = await inspectContainer(engine, name);
    if (!found?.State.Running) {
      const why = output.message.trim() || (found === undefined ? "it is gone" : statusOf(found));
      throw new SandboxUnavailableError(`the container ended at once: ${why}`);
    }
    if (found.HostConfig.NetworkMode !== "none") {
      throw new SandboxUnavailableError("the engine gave the container a network of its own");
    }
    const first = localProcess(found, record);
    if (first === undefined && launch.exit !== undefined) {
      throw new SandboxUnavailableError(
        "no way out can be made for a container of another machine: only sandboxes without a network can be made by this engine (DROVER_SANDBOX_NETWORK=none)",
      );
    }
    if (first !== undefined) checkNetwork(first.pid);
    const listeners =
      first && launch.exit
        ? await enterNetwork({ ...launch.exit, pid: first.pid, startTime: first.start_time })
        : undefined;
    return {
      ...{ stream, output, listeners },
      record: { ...record, ...first },
      group: first && containerGroup(first.pid, launch.limits),
    };
  } catch (error) {
    stream.destroy();
    throw error;
  }
}

/** The container's first process, if the engine's processes are this machine's and can be seen. */
function localProcess({ Id, State }: Inspected, { launch_id }: LaunchRecord) {
  if (process.platform !== "linux") return undefined;
  const first = identify(State.Pid);
  if (first === undefined) return undefined;
  const read = (name: string) => readFileSync(`/proc/${State.Pid}/${name}`, "latin1");
  const command = read("cmdline");
  // Of gVisor it is what runs the container. Of runc it is the agent, or what is about to become it: that has
  // the container's groups already.
  const isOurs = [launch_id, Id].some((id) => command.includes(id)) || read("cgroup").includes(Id);
  return isOurs ? first : undefined;
}

/** Throws if any way but its own loopback leads out of the process's network. */
function checkNetwork(pid: number): void {
  const devices = readFileSync(`/proc/${pid}/net/dev`, "utf8").split("\n").slice(2);
  const names = devices.map((line) => line.split(":")[0]?.trim() ?? "").filter((name) => name);
  const other = names.find((name) => name !== "lo");
  if (other === undefined) return;
  throw new SandboxUnavailableError(`the engine gave the container a network of its own: ${other}`);
}

function checkWanted(signal: AbortSignal): void {
  if (!signal.aborted) return;
  throw new SandboxUnavailableError("the making of the sandbox was given up", {
    cause: signal.reason,
  });
}

/**
 * Ends a launch's container, whoever launched it and however far that had come, and proves its processes
 * gone. A first process that is known and can be seen is enough for that: all others go with it. It is ended before
 * the engine is asked, which would freeze what forks without end, and on a busy machine be at that for ten
 * seconds. The engine then has some time to remove the container, and goes on with it by itself.
 */
export async function end(
  { engine, onLeft }: Pick<ContainerLaunch, "engine" | "onLeft">,
  record: LaunchRecord | ProcessRecord,
  deadlineMs = END_MS,
): Promise<void> {
  const name = containerName(record.launch_id);
  const remove = () => removeContainer(engine, name, deadlineMs);
  const isSeen = "pid" in record && process.getuid?.() === 0;
  if (!isSeen) return await remove();
  const gone = endRecorded(record, deadlineMs);
  // One that was paused, by a user or by an engine that died at it, is ended by nothing but the engine.
  const isGone = await within(gone, ALONE_MS).catch(() => false);
  if (!isGone) remove().catch(() => onLeft(name));
  await gone;
  const removed = within(containerStopped(engine, name), STOPPED_MS)
    .then(remove)
    .catch(() => onLeft(name));
  await within(removed, REMOVAL_MS);
}

/** Whether it has resolved by then. Rejects as it does. */
async function within(done: Promise<unknown>, ms: number): Promise<boolean> {
  const over = new AbortController();
  const late = sleep(ms, false, { signal: over.signal }).catch(() => false);
  try {
    return await Promise.race([done.then(() => true), late]);
  } finally {
    over.abort();
  }
}
