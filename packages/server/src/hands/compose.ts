import { join } from "node:path";
import { pino } from "pino";
import { INSTALLED_WORKSPACE } from "../app/installed-skills.ts";
import type { Config } from "../config.ts";
import { systemClock } from "../lib/system-clock.ts";
import { blobPath } from "../store/blob-path.ts";
import { LocalBlobs } from "../store/local-blobs.ts";
import type { HandsAdapters } from "./runtime/hands-life.ts";
import { BubblewrapProvider } from "./sandbox/bubblewrap/bubblewrap-provider.ts";
import { executeTool } from "./toolset/execute-tool.ts";

/** The one place that knows which adapters the hands process is made of. */
export async function composeHands(config: Config): Promise<HandsAdapters> {
  const log = pino(
    { level: config.logLevel, base: null },
    pino.destination({ dest: 2, sync: true }),
  );
  const blobsFolder = join(config.data, "blobs");
  return {
    provider: new BubblewrapProvider({
      dataFolder: config.data,
      blobPath: (workspaceId, sha256) => blobPath(blobsFolder, workspaceId, sha256),
      installedPath: (sha256) => blobPath(blobsFolder, INSTALLED_WORKSPACE, sha256),
      ...(config.bwrapPath === undefined ? {} : { bwrapPath: config.bwrapPath }),
      onWarning: (message, error) => log.warn({ err: error }, message),
    }),
    blobs: await LocalBlobs.open(blobsFolder),
    runTool: executeTool,
    clock: systemClock,
    report: (event, { error, ...fields }) => {
      if (error === undefined) log.info(fields, event);
      else log.warn({ ...fields, err: error }, event);
    },
  };
}
