import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { PrivateEngine } from "../../../packages/testing/src/index.ts";
import { openHostShell } from "../lib/host-shell.ts";
import { distribution, type Section } from "../lib/measurement.ts";
import { sample } from "../lib/sampling.ts";
import { openSessions } from "../lib/sessions.ts";
import type { World } from "../lib/world.ts";
import { timeCommands } from "./sandbox-times.ts";

const PROGRAMS = ["dockerd", "runsc"];
/** What separates whom from the machine. */
const PROVIDERS = { docker: "Docker (runc)", gvisor: "gVisor" } as const;

/** The same of sandboxes that are containers, on an engine of the benchmark's own. */
export async function measureContainers(
  world: World,
): Promise<Pick<Section, "measurements" | "notes">> {
  const problem = engineProblem();
  if (problem !== undefined) {
    return { measurements: [], notes: [`Docker and gVisor are left out: ${problem}.`] };
  }
  await using engine = new PrivateEngine();
  await engine.start();
  return {
    measurements: [
      ...(await measureProvider(world, engine, "docker")),
      ...(await measureProvider(world, engine, "gvisor")),
    ],
    notes: [
      "Docker and gVisor are measured by the same commands and on an engine of the benchmark's own; gVisor with `--platform=ptrace`, which works on every machine and is the slowest.",
    ],
  };
}

async function measureProvider(
  world: World,
  { socketPath }: PrivateEngine,
  name: keyof typeof PROVIDERS,
): Promise<Section["measurements"]> {
  await using server = await world.startServer({
    data: world.newDataFolder(`sandbox-${name}`),
    settings: { DROVER_SANDBOX_PROVIDER: name, DROVER_DOCKER_SOCKET: socketPath },
  });
  await using shell = openHostShell();
  const sessions = await openSessions(server.client);
  const times = await sample(world.plan.containers, async (index) => {
    const id = await sessions.create();
    const taken = await timeCommands(sessions, shell, { id, label: `${name}-${index}` });
    await sessions.delete(id);
    return taken;
  });
  const title = PROVIDERS[name];
  return [
    distribution(
      { name: `${title}: create → first result (\`true\` in a new sandbox)`, unit: "ms" },
      times.map(({ cold }) => cold),
    ),
    distribution(
      { name: `${title}: warm \`true\`, over its own time`, unit: "ms" },
      times.map(({ warm, ownTrue }) => warm - ownTrue),
    ),
  ];
}

/** Why no engine of one's own can be started here; undefined where it can. */
function engineProblem(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) {
    return "an engine of the benchmark's own is started by root on Linux only";
  }
  const missing = PROGRAMS.filter((program) => !isInstalled(program));
  return missing.length === 0 ? undefined : `there is no ${missing.join(" and no ")}`;
}

function isInstalled(program: string): boolean {
  const folders = (process.env["PATH"] ?? "").split(":").filter((folder) => folder !== "");
  return folders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
