import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";
import { createKeys } from "../app/keys.ts";
import { type Config, processEnvironment, refuseOwnAddress } from "../config.ts";
import type { Store } from "../core/ports/store.ts";
import { createApp } from "../http/app.ts";
import { type Listener, listen } from "../http/listen.ts";
import { armConfigured } from "../lib/arm-configured.ts";
import { failPoint } from "../lib/fail-point.ts";
import { acquireFileLock } from "../lib/file-lock.ts";
import { newId } from "../lib/new-id.ts";
import { OperatorError } from "../lib/operator-error.ts";
import { type Composition, compose } from "./compose.ts";
import { handsCommand } from "./hands-command.ts";

/** Keys belong to a workspace; the first one is there from the start. */
const FIRST_WORKSPACE = "wrkspc_default";

export interface Server {
  readonly url: string;
  /** Takes no more requests, lets go of every session and resolves when the store is closed. */
  close(): Promise<void>;
}

/**
 * Starts a server on the data folder: the API, and a scheduler that drives its sessions. Rejects with
 * an `OperatorError` where the person who started it can mend what is wrong.
 */
export async function startServer(config: Config, log: Logger): Promise<Server> {
  armConfigured(config.test.failPoint);
  mkdirSync(config.data, { recursive: true, mode: 0o700 });
  const lock = acquireFileLock(join(config.data, "serve.lock"));
  if (lock === undefined) {
    throw new OperatorError(
      `Another server is running on the data folder ${config.data}; stop it with \`drover stop\`, or set DROVER_DATA to a folder of its own.`,
    );
  }
  failPoint("serve.start.after_lock");
  try {
    const started = await startLocked(config, log);
    return {
      url: started.url,
      close: async () => {
        await started.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function startLocked(config: Config, log: Logger): Promise<Server> {
  const composition = await compose(config, handsCommandOf(config), log);
  const { store, scheduler, app } = composition;
  try {
    await prepare(store, config);
    failPoint("serve.start.after_prepare");
    const listener = await listen(createApp(app), config);
    refuseOwnAddress(config, listener.port);
    failPoint("serve.start.after_listen");
    scheduler.start();
    return { url: listener.url, close: () => closeAll(composition, listener) };
  } catch (error) {
    await closeAll(composition, undefined);
    throw error;
  }
}

/** The lock says that no other server lives, so its leases are over; and there must be a key. */
async function prepare(store: Store, config: Config): Promise<void> {
  const keys = createKeys({ store, newId });
  await store.write(async (tx) => {
    await tx.queue.takeOver("");
    await keys.ensureFirst(tx, FIRST_WORKSPACE, config.apiKey);
  });
}

async function closeAll(composition: Composition, listener: Listener | undefined): Promise<void> {
  // The sessions first: a request that is still being answered may wait for one of them.
  await composition.close();
  await listener?.close();
  await composition.store.close();
}

function handsCommandOf(config: Config) {
  const [, script = ""] = process.argv;
  const self = { execPath: process.execPath, execArgv: process.execArgv, script };
  return handsCommand(config, self, processEnvironment());
}
