import { afterAll, beforeAll, describe } from "vitest";
import { testSandboxes } from "../../../core/ports/sandbox.testsuite.ts";
import { testNetworks } from "../../../core/ports/sandbox-network.testsuite.ts";
import { openEngineDiskWorld } from "./disk-world.testsuite.ts";
import { testEngineDisks, testForeignDisk } from "./engine-disk.testsuite.ts";
import { PrivateEngine } from "./private-engine.ts";
import { openDockerWorld } from "./test-world.ts";

/** All that holds for sandboxes of every provider, on an engine of the test's own. */
export function testEngine(name: "docker" | "gvisor", title: string): void {
  describe.skipIf(process.getuid?.() !== 0)(title, () => {
    let engine: PrivateEngine;
    beforeAll(async () => {
      engine = await PrivateEngine.start();
    });
    afterAll(async () => engine[Symbol.asyncDispose]());
    testSandboxes(title, () => openDockerWorld(engine, name));
    testNetworks(title, () => openDockerWorld(engine, name));
    const testDisk = name === "gvisor" ? testForeignDisk : testEngineDisks;
    testDisk(title, () => openEngineDiskWorld(engine, name));
  });
}
