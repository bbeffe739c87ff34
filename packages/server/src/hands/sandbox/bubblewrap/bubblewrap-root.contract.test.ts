import { describe } from "vitest";
import { testSandboxes } from "../../../core/ports/sandbox.testsuite.ts";
import { testDiskFiles, testDisks } from "../../../core/ports/sandbox-disk.testsuite.ts";
import { testLimits } from "../../../core/ports/sandbox-limits.testsuite.ts";
import { testNetworks } from "../../../core/ports/sandbox-network.testsuite.ts";
import { testOutput } from "../../../core/ports/sandbox-output.testsuite.ts";
import { testRunaways } from "../../../core/ports/sandbox-runaways.testsuite.ts";
import { testCrashes } from "../local/crash.testsuite.ts";
import { testProbes } from "../local/escapes.testsuite.ts";
import { testMemory } from "../local/memory.testsuite.ts";
import { testSkills } from "../local/skills.testsuite.ts";
import { openDiskWorld } from "./disk-world.testsuite.ts";
import { testEscapes } from "./escape.testsuite.ts";
import { testLaunches } from "./launches.testsuite.ts";
import { openLimitsWorld } from "./limits-world.testsuite.ts";
import { testRecords } from "./records.testsuite.ts";
import { openBubblewrapCrashes, openBubblewrapWorld } from "./test-world.ts";

// The strictest there is: what a sandbox must read is made readable all the same.
process.umask(0o077);

// The launcher of this mode needs root; the other one is proved by `bubblewrap-rootless`.
describe.skipIf(process.getuid?.() !== 0)("as root", () => {
  testSandboxes("bubblewrap with a kernel uid for each hand", openBubblewrapWorld);
  testOutput("bubblewrap with a kernel uid for each hand", openBubblewrapWorld);
  testRunaways("bubblewrap with a kernel uid for each hand", openBubblewrapWorld);
  testLimits("bubblewrap with a kernel uid for each hand", openLimitsWorld);
  testDisks("bubblewrap with a kernel uid for each hand", openDiskWorld);
  testDiskFiles("bubblewrap with a kernel uid for each hand", openDiskWorld);
  testNetworks("bubblewrap with a kernel uid for each hand", openBubblewrapWorld);
  testProbes("bubblewrap with a kernel uid for each hand", openBubblewrapWorld);
  testEscapes("root", { type: "none" });
  testEscapes("root", { type: "unrestricted" });
  testCrashes("bubblewrap, root", openBubblewrapCrashes);
  testRecords("root");
  testLaunches("root");
  testSkills("bubblewrap, root", openBubblewrapWorld);
  testMemory("bubblewrap, root", openBubblewrapWorld);
});
