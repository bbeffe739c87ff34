import { join } from "node:path";
import { runTestHands, type TestHandsOptions } from "../hands/fake/run-test-hands.ts";
import { BubblewrapProvider } from "../hands/sandbox/bubblewrap/bubblewrap-provider.ts";
import { executeTool } from "../hands/toolset/execute-tool.ts";
import { systemClock } from "../lib/system-clock.ts";
import { blobPath } from "../store/blob-path.ts";
import { LocalBlobs } from "../store/local-blobs.ts";

/** The hands process with real sandboxes, without the settings that make an operator's machine of it. */
const options = JSON.parse(process.argv[2] ?? "{}") as TestHandsOptions;
const blobs = join(options.dataDir, "blobs");

await runTestHands(options, async () => ({
  provider: new BubblewrapProvider({
    dataFolder: options.dataDir,
    blobPath: (workspaceId, sha256) => blobPath(blobs, workspaceId, sha256),
  }),
  blobs: await LocalBlobs.open(blobs),
  runTool: executeTool,
  clock: systemClock,
}));
