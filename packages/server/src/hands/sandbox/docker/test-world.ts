import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { RunawaysWorld } from "../../../core/ports/sandbox-runaways.testsuite.ts";
import { installationId } from "../../protocol/hands-file.ts";
import type { CrashWorld } from "../local/crash.testsuite.ts";
import { openInstallation, type ProviderWorld } from "../local/installation-world.ts";
import type { LocalProvider, LocalProviderOptions } from "../local/local-provider.ts";
import { findRecord } from "../local/process-record.ts";
import type { SandboxLimits } from "../local/sandbox-layout.ts";
import { containerName, inspectContainer } from "./containers.ts";
import { DockerProvider } from "./docker-provider.ts";
import { EngineClient } from "./engine-client.ts";

/** Providers whose sandboxes are containers of the engine at the socket. */
export function dockerProvider(
  { socketPath }: { readonly socketPath: string },
  name: "docker" | "gvisor",
): (options: LocalProviderOptions) => LocalProvider {
  return (options) =>
    new DockerProvider({
      ...options,
      ...{ name, socketPath },
      installation: () => installationId(options.dataFolder),
    });
}

const hrefOf = (path: string) => pathToFileURL(join(import.meta.dirname, path)).href;

export async function openDockerWorld(
  engine: { readonly socketPath: string },
  name: "docker" | "gvisor",
  limits: Partial<SandboxLimits> = {},
): Promise<ProviderWorld & RunawaysWorld> {
  const { socketPath } = engine;
  const code = `
const { DockerProvider } = await import(${JSON.stringify(hrefOf("docker-provider.ts"))});
const { installationId } = await import(${JSON.stringify(hrefOf("../../protocol/hands-file.ts"))});
const engine = ${JSON.stringify({ name, socketPath })};
const provider = new DockerProvider({ ...options, ...engine, installation: () => installationId(dataFolder) });
`;
  const world = await openInstallation(dockerProvider(engine, name), limits);
  return {
    ...{ ...world, code, isSlow: true },
    ...(name === "gvisor" && {
      hostProcesses: (hand) => processesOf(join(world.folder, "hands", hand)),
    }),
  };
}

/** See `RunawaysWorld`: what runs a container, and what carries its id or is in its groups. */
function processesOf(handFolder: string): () => readonly string[] {
  const record = findRecord(handFolder);
  if (record === undefined || !("pid" in record)) throw new Error("the sandbox is not running");
  const id = /[0-9a-f]{64}/.exec(readFileSync(`/proc/${record.pid}/cgroup`, "latin1"))?.[0];
  if (id === undefined) throw new Error(`process ${record.pid} is in no group of a container`);
  return () =>
    readdirSync("/proc").flatMap((pid) => {
      if (!/^\d+$/.test(pid)) return [];
      try {
        const read = (name: string) => readFileSync(`/proc/${pid}/${name}`, "latin1");
        const command = read("cmdline");
        return command.includes(id) || read("cgroup").includes(id) ? [`${pid} ${command}`] : [];
      } catch {
        // It has ended meanwhile.
        return [];
      }
    });
}

export async function openDockerCrashes(
  engine: { readonly socketPath: string },
  name: "docker" | "gvisor",
): Promise<CrashWorld> {
  const client = new EngineClient(engine);
  return {
    ...(await openDockerWorld(engine, name)),
    async made(record) {
      if (!("launch_id" in record)) throw new Error("a container without a launch");
      const found = await inspectContainer(client, containerName(record.launch_id));
      return found === undefined ? [] : [found.Id];
    },
    goesLater: true,
    // Its groups are the container's, so that before it there is nothing.
    mustHave: (point) => point !== "hands.provision.after_group",
  };
}
