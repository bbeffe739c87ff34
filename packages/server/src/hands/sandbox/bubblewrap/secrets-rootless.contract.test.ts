import { testSecrets } from "../../../core/ports/sandbox-secrets.testsuite.ts";
import { openBubblewrapWorld } from "./test-world.ts";

/** Of nobody: what this file proves must hold for a user without any privilege. */
const UNPRIVILEGED = 1500;

// For good: the process of this test file is its own, and the rest of it is to run as that user.
if (process.getuid?.() === 0) {
  process.setgroups?.([]);
  process.setgid?.(UNPRIVILEGED);
  process.setuid?.(UNPRIVILEGED);
}

testSecrets("bubblewrap as an unprivileged user", openBubblewrapWorld);
