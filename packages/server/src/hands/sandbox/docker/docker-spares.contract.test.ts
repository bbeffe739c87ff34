import { PrivateEngine } from "@drover/testing";
import { afterAll, beforeAll, describe } from "vitest";
import { HALF_MOVED, type SPARE_LIMITS, testSpares } from "../local/spares.testsuite.ts";
import { openDockerWorld } from "./test-world.ts";

process.umask(0o077);

describe.skipIf(process.getuid?.() !== 0)("on an engine of the test's own", () => {
  const engine = new PrivateEngine();
  beforeAll(async () => engine.start());
  afterAll(async () => engine[Symbol.asyncDispose]());
  const open = (name: "docker" | "gvisor") => (limits: typeof SPARE_LIMITS) =>
    openDockerWorld(engine, name, limits);
  testSpares("Docker Engine with runc", open("docker"), HALF_MOVED);
  // What dies and what is left of it are the same engine's containers.
  testSpares("Docker Engine with gVisor", open("gvisor"), []);
});
