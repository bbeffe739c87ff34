import { PrivateEngine } from "@drover/testing";
import { afterAll, beforeAll, describe } from "vitest";
import { testSandboxes } from "../../../core/ports/sandbox.testsuite.ts";
import { testLimits } from "../../../core/ports/sandbox-limits.testsuite.ts";
import { testNetworks } from "../../../core/ports/sandbox-network.testsuite.ts";
import { testOutput } from "../../../core/ports/sandbox-output.testsuite.ts";
import { testRunaways } from "../../../core/ports/sandbox-runaways.testsuite.ts";
import { testSecrets } from "../../../core/ports/sandbox-secrets.testsuite.ts";
import { testOutfits } from "../../packages/outfits.testsuite.ts";
import { testCrashes } from "../local/crash.testsuite.ts";
import { NETWORKS, testProbes } from "../local/escapes.testsuite.ts";
import { testMemory } from "../local/memory.testsuite.ts";
import { testSkills } from "../local/skills.testsuite.ts";
import { openEngineDiskWorld } from "./disk-world.testsuite.ts";
import { testContainerEnds } from "./docker-ends.testsuite.ts";
import { testEngineDisks, testForeignDisk } from "./engine-disk.testsuite.ts";
import { testBombs } from "./gvisor-bombs.testsuite.ts";
import { openDockerLimits } from "./limits-world.testsuite.ts";
import { openDockerOutfits } from "./outfits-world.testsuite.ts";
import { openDockerCrashes, openDockerWorld } from "./test-world.ts";

/** Of runc: gVisor's containers are those of the same engine. */
const KILLS = { times: 3, launches: 2, withinMs: 600 } as const;

/** Of so many processes gVisor's stand-ins leave the agent room to answer: see `testBombs` for more. */
const ROOMY = { processes: 128 };

/** All that holds for sandboxes of every provider, on an engine of the test's own. */
export function testEngine(name: "docker" | "gvisor", title: string): void {
  describe.skipIf(process.getuid?.() !== 0)(title, () => {
    const engine = new PrivateEngine();
    beforeAll(async () => engine.start());
    afterAll(async () => engine[Symbol.asyncDispose]());
    testSandboxes(title, () => openDockerWorld(engine, name));
    testNetworks(title, () => openDockerWorld(engine, name));
    testSecrets(title, () => openDockerWorld(engine, name), ["--http2"]);
    const testDisk = name === "gvisor" ? testForeignDisk : testEngineDisks;
    testDisk(title, () => openEngineDiskWorld(engine, name));
    testOutfits(title, () => openDockerOutfits(engine, name));
    testSkills(title, () => openDockerWorld(engine, name), []);
    testMemory(title, () => openDockerWorld(engine, name), { isWhole: name === "docker" });
    testCrashes(
      title,
      () => openDockerCrashes(engine, name),
      name === "docker" ? KILLS : undefined,
    );
    testLimits(title, () => openDockerLimits(engine, name));
    testOutput(title, () => openDockerWorld(engine, name));
    testRunaways(title, () => openDockerWorld(engine, name, name === "docker" ? {} : ROOMY));
    if (name === "gvisor") testBombs(title, () => openDockerWorld(engine, name));
    if (name === "docker") testContainerEnds(title, engine, (at) => openDockerWorld(at, name));
    // Those with more that could be reached; without a network there is less.
    const networks = NETWORKS.filter(({ type }) => type !== "none");
    testProbes(title, () => openDockerWorld(engine, name), networks);
  });
}
