import { describe } from "vitest";
import { testSecrets } from "../../../core/ports/sandbox-secrets.testsuite.ts";
import { openBubblewrapWorld } from "./test-world.ts";

// The strictest there is: what a sandbox must read is made readable all the same.
process.umask(0o077);

describe.skipIf(process.getuid?.() !== 0)("as root", () => {
  testSecrets("bubblewrap with a kernel uid for each hand", openBubblewrapWorld);
});
