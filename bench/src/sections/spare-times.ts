import { readFileSync } from "node:fs";
import { join } from "node:path";
import { nowMs, sleep } from "../lib/clock.ts";
import type { HostShell } from "../lib/host-shell.ts";
import { distribution, type Measurement } from "../lib/measurement.ts";
import { sample } from "../lib/sampling.ts";
import { openSessions } from "../lib/sessions.ts";
import type { World } from "../lib/world.ts";
import { timeCommands } from "./sandbox-times.ts";

/** Another is ready after a second. */
const SAMPLES_MAX = 50;
const READY_MS = 20_000;
const LOOK_MS = 20;

/** The same first result where a spare sandbox is ready (`DROVER_SANDBOX_WARM=1`). */
export async function measureSpares(world: World, shell: HostShell): Promise<Measurement> {
  const data = world.newDataFolder("spares");
  await using server = await world.startServer({ data, settings: { DROVER_SANDBOX_WARM: "1" } });
  const sessions = await openSessions(server.client);
  const time = async (label: string) => {
    const id = await sessions.create();
    const times = await timeCommands(sessions, shell, { id, label });
    await sessions.delete(id);
    return times.cold;
  };
  // Its sandbox is made as always, and says what spares are to be like.
  await time("spares");
  const { samples, ...plan } = world.plan.sandbox;
  const times = await sample(
    { ...plan, samples: Math.min(samples, SAMPLES_MAX) },
    async (index) => {
      await spareReady(data, index + 1);
      return await time(`spares-${index}`);
    },
  );
  return distribution(
    { name: "create → first result with a spare sandbox (`DROVER_SANDBOX_WARM`)", unit: "ms" },
    times,
  );
}

/** Waits until so many were made: each was used but the last. */
async function spareReady(data: string, count: number): Promise<void> {
  const endMs = nowMs() + READY_MS;
  for (;;) {
    const made = readFileSync(join(data, "hands.log"), "utf8").split('"spare_ready"').length - 1;
    if (made >= count) return;
    if (nowMs() > endMs) throw new Error(`${made} spare sandboxes were made, not ${count}`);
    await sleep(LOOK_MS);
  }
}
