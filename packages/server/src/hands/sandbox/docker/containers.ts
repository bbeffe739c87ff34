import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { type EngineClient, EngineRefusalError } from "./engine-client.ts";

/** Labels of every container that a sandbox is. */
export const INSTALLATION_LABEL = "dev.drover.installation";
export const PROVIDER_LABEL = "dev.drover.provider";
export const HAND_LABEL = "dev.drover.hand";
export const LAUNCH_LABEL = "dev.drover.launch";

const POLL_MS = 25;

const Inspected = z.object({
  Id: z.string(),
  State: z.object({
    Pid: z.number(),
    Running: z.boolean(),
    ExitCode: z.number(),
    OOMKilled: z.boolean(),
    Error: z.string().optional(),
  }),
  HostConfig: z.object({ NetworkMode: z.string() }),
});
export type Inspected = z.infer<typeof Inspected>;

const Listed = z.array(z.object({ Id: z.string(), Labels: z.record(z.string(), z.string()) }));

/** The name of a launch's container, from before there is one. */
export function containerName(launchId: string): string {
  return `drover-${launchId}`;
}

/** Undefined if there is none. */
export async function inspectContainer(
  engine: EngineClient,
  container: string,
): Promise<Inspected | undefined> {
  try {
    return Inspected.parse(
      await engine.ask({ method: "GET", path: `/containers/${container}/json` }),
    );
  } catch (error) {
    if (error instanceof EngineRefusalError && error.status === 404) return undefined;
    throw error;
  }
}

/**
 * Kills a container and removes it; resolves when the engine has none of the name. Rejects when that
 * cannot be reached in time.
 */
export async function removeContainer(
  engine: EngineClient,
  container: string,
  deadlineMs: number,
): Promise<void> {
  const giveUpAt = performance.now() + deadlineMs;
  const path = `/containers/${container}?force=true&v=true`;
  for (;;) {
    try {
      await engine.ask({ method: "DELETE", path });
      return;
    } catch (error) {
      if (!(error instanceof EngineRefusalError)) throw error;
      if (error.status === 404) return;
      // 409: somebody else is removing it. 500: such as a runtime that was not ready to be told.
      if (performance.now() > giveUpAt) throw error;
      await sleep(POLL_MS);
    }
  }
}

/** Resolves when the engine knows that the container does not run, or has none of the name. */
export async function containerStopped(engine: EngineClient, container: string): Promise<void> {
  const path = `/containers/${container}/wait?condition=not-running`;
  try {
    await engine.ask({ method: "POST", path });
  } catch (error) {
    if (!(error instanceof EngineRefusalError && error.status === 404)) throw error;
  }
}

/** Ids of an installation's containers of one provider, but for the launches that are named. */
export async function strayContainers(
  engine: EngineClient,
  { installation, provider }: { installation: string; provider: string },
  except: ReadonlySet<string>,
): Promise<readonly string[]> {
  const label = [`${INSTALLATION_LABEL}=${installation}`, `${PROVIDER_LABEL}=${provider}`];
  const filters = encodeURIComponent(JSON.stringify({ label }));
  const path = `/containers/json?all=true&filters=${filters}`;
  const listed = Listed.parse(await engine.ask({ method: "GET", path }));
  return listed.filter(({ Labels }) => !except.has(Labels[LAUNCH_LABEL] ?? "")).map(({ Id }) => Id);
}
