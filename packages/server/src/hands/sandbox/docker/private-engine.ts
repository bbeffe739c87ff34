import { type ChildProcess, spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { EngineClient } from "./engine-client.ts";

const START_MS = 60_000;
const STOP_MS = 30_000;
const POLL_MS = 50;

/**
 * A Docker Engine of a test's own: own folders, own socket, no bridge, no rule in the host's firewall. It is
 * told to end when the process that started it dies.
 */
export class PrivateEngine implements AsyncDisposable {
  readonly socketPath: string;
  readonly folder: string;
  #process: ChildProcess | undefined;

  private constructor(folder: string) {
    this.folder = folder;
    this.socketPath = join(folder, "docker.sock");
  }

  static async start(): Promise<PrivateEngine> {
    const engine = new PrivateEngine(await mkdtemp(join(tmpdir(), "drover-engine-")));
    await writeFile(
      join(engine.folder, "daemon.json"),
      JSON.stringify({ runtimes: { runsc: { path: "/usr/bin/runsc", runtimeArgs: GVISOR } } }),
    );
    await engine.run();
    return engine;
  }

  /** Starts the daemon, the first time or again after it was killed. */
  async run(): Promise<void> {
    const { folder, socketPath } = this;
    const child = spawn(
      "/usr/bin/perl",
      // SIGTERM (15) with the end of who started it (PR_SET_PDEATHSIG, 1).
      [
        "-e",
        "syscall(157, 1, 15, 0, 0, 0) if $^O eq 'linux'; exec @ARGV or die $!",
        "dockerd",
      ].concat([
        ...["--config-file", join(folder, "daemon.json")],
        ...["--data-root", join(folder, "data"), "--exec-root", join(folder, "exec")],
        ...["--pidfile", join(folder, "pid"), "-H", `unix://${socketPath}`],
        ...["--bridge=none", "--iptables=false", "--ip-forward=false", "--ip-masq=false"],
      ]),
      { stdio: ["ignore", "ignore", "pipe"], detached: true },
    );
    this.#process = child;
    child.stderr?.pipe(createWriteStream(join(folder, "log"), { flags: "a" }));
    const client = new EngineClient({ socketPath, answerMs: 5_000 });
    const giveUpAt = performance.now() + START_MS;
    for (;;) {
      if (child.exitCode !== null || child.signalCode !== null || performance.now() > giveUpAt) {
        throw new Error(`dockerd does not start: ${(await this.log()).slice(-2_000)}`);
      }
      try {
        await client.ask({ method: "GET", path: "/_ping" });
        return;
      } catch {
        await sleep(POLL_MS);
      }
    }
  }

  log(): Promise<string> {
    return readFile(join(this.folder, "log"), "utf8");
  }

  /** As a crash does it: its containers go on. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
    const pid = Number(await readFile(join(this.folder, "exec/containerd/containerd.pid"), "utf8"));
    process.kill(pid, "SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end("SIGTERM");
    await rm(this.folder, { recursive: true, force: true });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await ended;
    clearTimeout(timer);
  }
}

/** No network of gVisor's own, as it can have no way out; a container's has nothing but `lo` all the same. */
const GVISOR = ["--network=host", "--platform=ptrace", "--oci-seccomp"];
