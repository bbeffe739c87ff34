import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { createWriteStream, existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const START_MS = 60_000;
const STOP_MS = 30_000;
const ANSWER_MS = 5_000;
const POLL_MS = 50;

/** SIGTERM (15) with the end of whoever started it (PR_SET_PDEATHSIG, 1). */
const MORTAL =
  "syscall($ARGV[0] eq 'x64' ? 157 : 167, 1, 15, 0, 0, 0); shift; exec { $ARGV[0] } @ARGV or die $!";

/** Without a network of gVisor's own, which can have no way out. It has nothing but `lo` all the same. */
const GVISOR = ["--network=host", "--platform=ptrace", "--oci-seccomp"];

/**
 * A Docker Engine of a test's own: own folders, own socket, no bridge, no rule in the host's firewall.
 * Needs root, `dockerd` and `runsc`. It ends with whoever started it.
 */
export class PrivateEngine implements AsyncDisposable {
  readonly folder = join(tmpdir(), `drover-engine-${randomBytes(6).toString("hex")}`);
  readonly socketPath = join(this.folder, "docker.sock");
  #process: ChildProcess | undefined;

  /** The first time, or again after it was killed. Resolves when it answers. */
  async start(): Promise<void> {
    const { folder, socketPath } = this;
    const config = join(folder, "daemon.json");
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const runtimes = { runsc: { path: "/usr/bin/runsc", runtimeArgs: GVISOR } };
    await writeFile(config, JSON.stringify({ runtimes }));
    const daemon = [
      ...["dockerd", "--config-file", config, "-H", `unix://${socketPath}`],
      ...["--data-root", join(folder, "data"), "--exec-root", join(folder, "exec")],
      ...["--pidfile", join(folder, "pid")],
      ...["--bridge=none", "--iptables=false", "--ip-forward=false", "--ip-masq=false"],
    ];
    const child = spawn("/usr/bin/perl", ["-e", MORTAL, process.arch, ...daemon], {
      stdio: ["ignore", "ignore", "pipe"],
      detached: true,
    });
    this.#process = child;
    child.stderr?.pipe(createWriteStream(join(folder, "log"), { flags: "a" }));
    const giveUpAt = performance.now() + START_MS;
    while (!(await this.#answers())) {
      if (hasEnded(child) || performance.now() > giveUpAt) {
        throw new Error(`dockerd does not start: ${(await this.log()).slice(-2_000)}`);
      }
      await sleep(POLL_MS);
    }
  }

  log(): Promise<string> {
    return readFile(join(this.folder, "log"), "utf8");
  }

  /** As a crash does it: its containers go on. Resolves when nothing of the daemon is left. */
  async kill(): Promise<void> {
    const pid = (
      await readFile(join(this.folder, "exec/containerd/containerd.pid"), "utf8")
    ).trim();
    await this.#end("SIGKILL");
    // The kernel ends it with the daemon. Until then, the next one would take it for its own.
    while (existsSync(`/proc/${pid}`)) await sleep(POLL_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end("SIGTERM");
    // What a daemon that was killed has left mounted.
    const mounts = (await readFile("/proc/self/mounts", "utf8")).split("\n");
    const own = mounts.flatMap((line) => line.split(" ")[1] ?? []);
    const left = own.filter((path) => path.startsWith(`${this.folder}/`)).reverse();
    if (left.length > 0) execFileSync("/bin/umount", ["-l", ...left]);
    await rm(this.folder, { recursive: true, force: true });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    if (!child || hasEnded(child)) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await ended;
    clearTimeout(timer);
  }

  async #answers(): Promise<boolean> {
    const { socketPath } = this;
    return await new Promise((resolve) => {
      const asked = get({ socketPath, path: "/_ping", timeout: ANSWER_MS }, (answer) => {
        answer.resume();
        resolve(answer.statusCode === 200);
      });
      asked.on("timeout", () => asked.destroy());
      asked.on("error", () => resolve(false));
    });
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
