import type { Config } from "../config.ts";
import { OperatorError } from "../lib/operator-error.ts";
import { apiKeyFor } from "./api-key.ts";
import { createLogger } from "./logger.ts";
import { forbidCoreDumps } from "./no-core-dumps.ts";
import { removeServerFile, writeServerFile } from "./server-file.ts";
import { stopSignal } from "./stop-signal.ts";

/**
 * Runs the server until it is told to stop or its data folder may be another's; says where it
 * listens in one line of JSON on stdout.
 */
export async function serve(loaded: Config): Promise<void> {
  const config = { ...loaded, apiKey: apiKeyFor(loaded) };
  const logger = createLogger(config);
  const { startServer } = await import("../serve/main.ts");
  const unforbidden = forbidCoreDumps();
  if (unforbidden !== undefined) logger.warn(unforbidden);
  const stopped = stopSignal();
  const server = await startServer(config, logger);
  try {
    await writeServerFile(config.data, server.url, config.postgresUrl !== undefined);
    // Whoever started this may be gone by now, which is no reason to end.
    process.stdout.on("error", (error) => logger.debug({ err: error }, "stdout is closed"));
    process.stdout.write(`${JSON.stringify({ url: server.url, pid: process.pid })}\n`);
    logger.info({ url: server.url, data: config.data, pid: process.pid }, "listening");
    const disowned = server.disowned.then((why) => Promise.reject(new OperatorError(why)));
    logger.info({ signal: await Promise.race([stopped, disowned]) }, "stopping");
  } finally {
    await server.close();
    await removeServerFile(config.data);
  }
}
