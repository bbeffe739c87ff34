import { testSandboxes } from "../../../core/ports/sandbox.testsuite.ts";
import { testDisks } from "../../../core/ports/sandbox-disk.testsuite.ts";
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

/** Of nobody: what this file proves must hold for a user without any privilege. */
const UNPRIVILEGED = 1500;

// For good: the process of this test file is its own, and the rest of it is to run as that user.
if (process.getuid?.() === 0) {
  process.setgroups?.([]);
  process.setgid?.(UNPRIVILEGED);
  process.setuid?.(UNPRIVILEGED);
}

testSandboxes("bubblewrap as an unprivileged user", openBubblewrapWorld);
testOutput("bubblewrap as an unprivileged user", openBubblewrapWorld);
testRunaways("bubblewrap as an unprivileged user", openBubblewrapWorld);
testLimits("bubblewrap as an unprivileged user", openLimitsWorld);
testDisks("bubblewrap as an unprivileged user", openDiskWorld);
testNetworks("bubblewrap as an unprivileged user", openBubblewrapWorld);
testProbes("bubblewrap as an unprivileged user", openBubblewrapWorld);
testEscapes("rootless", { type: "none" });
testEscapes("rootless", { type: "unrestricted" });
testCrashes("bubblewrap, rootless", openBubblewrapCrashes);
testRecords("rootless");
testLaunches("rootless");
testSkills("bubblewrap, rootless", openBubblewrapWorld);
testMemory("bubblewrap, rootless", openBubblewrapWorld);
