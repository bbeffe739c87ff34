import { describe } from "vitest";
import { testSpares } from "../local/spares.testsuite.ts";
import { openBubblewrapWorld } from "./test-world.ts";

process.umask(0o077);

describe.skipIf(process.getuid?.() !== 0)("as root", () => {
  testSpares("bubblewrap with a kernel uid for each hand", openBubblewrapWorld);
});
