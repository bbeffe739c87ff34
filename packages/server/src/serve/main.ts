import { mkdirSync } from "node:fs";
import type { Logger } from "pino";
import { createKeys } from "../app/keys.ts";
import { ensureFirstWorkspace, FIRST_WORKSPACE } from "../app/workspaces.ts";
import { type Config, processEnvironment, refuseOwnAddress } from "../config.ts";
import type { Store } from "../core/ports/store.ts";
import { createApp } from "../http/app.ts";
import { type Listener, listen } from "../http/listen.ts";
import { armConfigured } from "../lib/arm-configured.ts";
import { failPoint } from "../lib/fail-point.ts";
import { newId } from "../lib/new-id.ts";
import { OperatorError } from "../lib/operator-error.ts";
import { systemClock } from "../lib/system-clock.ts";
import { type Composition, compose } from "./compose.ts";
import { handsCommand } from "./hands-command.ts";
import { type Ownership, takeOwnership } from "./ownership.ts";

/** Between two looks at the folder's lock, in milliseconds. */
const LOOK_MS = 1_000;

export interface Server {
  readonly url: string;
  /** Resolves with a sentence when another server may own the data folder: this one is to be closed. */
  readonly disowned: Promise<string>;
  /** Takes no more requests, lets go of every session and resolves when the store is closed. */
  close(): Promise<void>;
}

/**
 * Starts a server on the data folder: the API, and a scheduler that drives its sessions. Rejects with
 * an `OperatorError` where the person who started it can mend what is wrong.
 */
export async function startServer(config: Config, log: Logger): Promise<Server> {
  armConfigured(config.test.failPoint, "serve");
  warnOfUnsafe(config, log);
  mkdirSync(config.data, { recursive: true, mode: 0o700 });
  const ownership = takeOwnership(config);
  failPoint("serve.start.after_lock");
  try {
    const started = await startOwner(config, log, ownership);
    const closing = new AbortController();
    return {
      url: started.url,
      disowned: disowned(ownership, config.data, closing.signal),
      close: async () => {
        closing.abort();
        await started.close();
        ownership.release();
      },
    };
  } catch (error) {
    ownership.release();
    throw error;
  }
}

/** At its own level, so that no setting of the log's can hide it. */
function warnOfUnsafe({ test: { unsafe } }: Config, log: Logger): void {
  if (unsafe.length === 0) return;
  log
    .child({}, { level: "warn" })
    .warn(
      { unsafe },
      "DROVER_TEST_UNSAFE switches safeguards off that keep sessions whole: events can be lost or doubled and tools run twice. It is for tests of Drover only; unset it and start again.",
    );
}

async function startOwner(
  config: Config,
  log: Logger,
  ownership: Ownership,
): Promise<Pick<Server, "url" | "close">> {
  const composition = await compose(config, { spawn: handsCommandOf(config), ownership, log });
  const { store, scheduler, disposer, app } = composition;
  try {
    await prepare(store, config, ownership);
    failPoint("serve.start.after_prepare");
    const listener = await listen(createApp(app), config);
    refuseOwnAddress(config, listener.port);
    failPoint("serve.start.after_listen");
    scheduler.start();
    disposer.start();
    return { url: listener.url, close: () => closeAll(composition, listener) };
  } catch (error) {
    await closeAll(composition, undefined);
    throw error;
  }
}

/** Whoever owns the database alone knows that all leases are over; and there must be a key. */
async function prepare(store: Store, config: Config, ownership: Ownership): Promise<void> {
  const keys = createKeys({ store, newId });
  await store.write(async (tx) => {
    if (!ownership.stillHeld()) throw new OperatorError(lostLock(config.data));
    if (!ownership.isShared) await tx.queue.takeOver("");
    await ensureFirstWorkspace(tx);
    await keys.ensureFirst(tx, FIRST_WORKSPACE, config.apiKey);
  });
}

/** A server that was frozen, or whose folder was put in another's hands, finds out here. */
async function disowned(ownership: Ownership, data: string, signal: AbortSignal): Promise<string> {
  while (ownership.stillHeld() && !signal.aborted) {
    await systemClock.sleepUntil(systemClock.now() + LOOK_MS, signal);
  }
  return lostLock(data);
}

function lostLock(data: string): string {
  return `The lock file of ${data} is gone or was replaced, so another server may own the folder; this one ends.`;
}

async function closeAll(composition: Composition, listener: Listener | undefined): Promise<void> {
  // The sessions first: a request that is still being answered may wait for one of them.
  await composition.close();
  await listener?.close();
  await composition.closeDatabase();
}

function handsCommandOf(config: Config) {
  const [, script = ""] = process.argv;
  const self = { execPath: process.execPath, execArgv: process.execArgv, script };
  return handsCommand(config, self, processEnvironment());
}
