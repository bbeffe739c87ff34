import { testPackages } from "./packages.testsuite.ts";

/** Of nobody: what this file proves must hold for a user without any privilege. */
const UNPRIVILEGED = 1500;

// For good: the process of this test file is its own, and the rest of it is to run as that user.
if (process.getuid?.() === 0) {
  process.setgroups?.([]);
  process.setgid?.(UNPRIVILEGED);
  process.setuid?.(UNPRIVILEGED);
}

testPackages("rootless", { managers: ["pip"], points: ["packages.after_install"] });
