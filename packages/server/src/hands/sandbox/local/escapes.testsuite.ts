import { execFile, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SandboxNetwork } from "../../../core/ports/hands.ts";
import { type Box, startOn } from "../../../core/ports/sandbox.testsuite.ts";
import { PUBLIC } from "../../egress/outside.testsuite.ts";
import { ESCAPE_PROBES, type EscapeProbe, type HostSide, PATIENCE } from "./escape-probes.ts";
import type { InstallationWorld } from "./installation-world.ts";

const run = promisify(execFile);
const CANARY = "canary-of-the-host";
const PATIENCE_S = 20;

const ALLOWED = "api.test";
const LIMITED: SandboxNetwork = { type: "limited", hosts: [ALLOWED] };
export const NETWORKS: readonly SandboxNetwork[] = [
  { type: "none" },
  { type: "unrestricted" },
  LIMITED,
];

/** What code in a sandbox must not get, of every provider. With a limited network it asks for what that could change. */
export function testProbes(
  title: string,
  open: () => Promise<InstallationWorld>,
  networks = NETWORKS,
): void {
  describe.each(networks)(`code in a sandbox of ${title} with the network $type`, (network) => {
    let world: InstallationWorld;
    let host: HostWitness;
    let box: Box;
    beforeAll(async () => {
      world = await open();
      host = await HostWitness.open(world.folder);
      box = await startOn(world.provider, { network });
    });
    afterAll(async () => {
      await box[Symbol.asyncDispose]();
      await host[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    });

    const probes = ESCAPE_PROBES.filter(isHere).filter(
      ({ isNetwork = false }) => isNetwork || network.type !== "limited",
    );
    test.each(probes)("does not get $name", async ({ command }) => {
      const { output } = await box.sh(`( ${command(host)}\n) 2>&1`);
      expect(output.split("\n")).not.toContain("got");
      expect(host.reached).toBe(0);
    });

    test("dials nobody outside", () => {
      expect(world.outside.dialled).toEqual([]);
    });

    test.skipIf(network.type === "none")("reaches what it may", async () => {
      world.outside.name(ALLOWED, [PUBLIC]);
      await world.outside.say(PUBLIC, 80, "reached");
      const ask = `exec 7<>/dev/tcp/${ALLOWED}/80; until cat <&7; do sleep 0.05; done`;
      expect((await box.sh(`timeout 10 bash -c '${ask}'`)).output).toContain("reached");
    });
  });
}

/** The same where it is allowed. Needs root. */
export function testControls(folder: () => string): void {
  describe("the host", () => {
    let host: HostWitness;
    beforeAll(async () => {
      host = await HostWitness.open(folder());
    });
    afterAll(async () => host[Symbol.asyncDispose]());

    test.each(ESCAPE_PROBES.filter(isHere))("gets $name", async (probe) => {
      const patience = `export ${PATIENCE}=${PATIENCE_S}`;
      const script = [patience, probe.prepare ?? "true", probe.command(host)].join("\n");
      const own = probe.allowedIn === undefined ? [] : ["unshare", probe.allowedIn];
      const [program = "", ...args] = [...own, "bash", "-c", script];
      const { stdout, stderr } = await run(program, args, { timeout: 50_000 }).catch(
        (error: { stdout: string; stderr: string }) => error,
      );
      expect(`${stdout}${stderr}`.split("\n")).toContain("got");
    });
  });
}

function isHere({ isX64 = false }: EscapeProbe): boolean {
  return !isX64 || process.arch === "x64";
}

/** Listeners, a process and a file of the host's, which notice whoever reaches them. */
class HostWitness implements HostSide, AsyncDisposable {
  readonly canary = CANARY;
  readonly file: string;
  readonly abstractName = `drover-probe-${process.pid}`;
  readonly socketPath: string;
  tcpPort = 0;
  udpPort = 0;
  pid = 0;
  reached = 0;
  readonly #open: (() => void)[] = [];

  private constructor(folder: string) {
    this.file = join(folder, "probed");
    this.socketPath = join(folder, "probed.sock");
    writeFileSync(this.file, `${CANARY}\n`);
  }

  static async open(folder: string): Promise<HostWitness> {
    const witness = new HostWitness(folder);
    const sleeper = spawn("sleep", ["600"], { env: { DROVER_CANARY: CANARY }, stdio: "ignore" });
    witness.pid = sleeper.pid ?? 0;
    witness.#open.push(() => sleeper.kill("SIGKILL"));
    const tcp = await witness.#listen({ port: 0, host: "::", ipv6Only: false });
    const address = tcp.address();
    witness.tcpPort = typeof address === "object" && address !== null ? address.port : 0;
    await witness.#listen({ path: `\0${witness.abstractName}` });
    await witness.#listen({ path: witness.socketPath });
    const udp = createSocket("udp4", (_message, { port }) => {
      witness.reached += 1;
      udp.send("reached", port, "127.0.0.1");
    });
    await new Promise<void>((resolve) => udp.bind(0, "127.0.0.1", resolve));
    witness.udpPort = udp.address().port;
    witness.#open.push(() => udp.close());
    return witness;
  }

  async #listen(place: Parameters<Server["listen"]>[0] & object): Promise<Server> {
    const server = createServer((socket) => {
      this.reached += 1;
      socket.on("error", () => undefined);
      socket.end("reached");
    });
    await new Promise<void>((resolve) => server.listen(place, resolve));
    this.#open.push(() => server.close());
    return server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.#open) close();
  }
}
