import { type DiskWorld, TESTED_DISK } from "../../../core/ports/sandbox-disk.testsuite.ts";
import { diskWorld } from "../local/disk-world.testsuite.ts";
import { BubblewrapProvider } from "./bubblewrap-provider.ts";
import { openBubblewrapWorld } from "./test-world.ts";

/** An installation whose sandboxes have little room. */
export async function openDiskWorld(): Promise<DiskWorld> {
  const world = await openBubblewrapWorld(TESTED_DISK);
  return diskWorld({ world, provide: (options) => new BubblewrapProvider(options) });
}
