import { randomBytes } from "node:crypto";
import { chmod, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../core/ports/clock.ts";
import { bootId } from "../../core/sandboxes/boot-id.ts";
import { failPoint } from "../../lib/fail-point.ts";
import { acquireFileLock, type FileLock } from "../../lib/file-lock.ts";
import { newId } from "../../lib/new-id.ts";
import { OperatorError } from "../../lib/operator-error.ts";
import {
  installationId,
  PROTOCOL_VERSION,
  processStart,
  readHandsFile,
  removeHandsFile,
  socketPath,
  writeHandsFile,
} from "../protocol/hands-file.ts";
import { HandsServer } from "../protocol/hands-server.ts";
import { Deadline } from "./deadline.ts";
import { HANDS_TIMES, type HandsTimes } from "./hands-limits.ts";
import {
  assembleHands,
  type HandsAdapters,
  type HandsParts,
  type HandsPartsOptions,
} from "./hands-parts.ts";
import { guardLife } from "./life-guard.ts";

export interface HandsLifeOptions extends HandsPartsOptions {
  /** Called once the data folder is these hands' alone. */
  readonly openAdapters: () => Promise<HandsAdapters>;
  /** Aborted for an orderly end. */
  readonly signal: AbortSignal;
  readonly times?: Partial<HandsTimes>;
  /** See `HandsFile`. */
  readonly network?: string;
}

/** Another process has the hands of this data folder. */
export class HandsRunningError extends OperatorError {
  constructor(dataDir: string) {
    super(
      `Other hands run for ${dataDir} already. End them with \`drover stop --hands\`, or use another data folder.`,
    );
    this.name = "HandsRunningError";
  }
}

/**
 * The life of a hands process: it owns the sandboxes of one data folder and runs the calls that are
 * sent to it, until it is asked to end or has no more business to live. Resolves when everything it started is
 * gone. Rejects with `HandsRunningError`, or when the sandboxes of an earlier boot cannot be proved
 * gone: then nobody may find these hands.
 */
export async function liveAsHands(options: HandsLifeOptions): Promise<void> {
  const { dataDir } = options;
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  failPoint("hands.start.before_lock");
  const lock = acquireFileLock(join(dataDir, "hands.lock"));
  if (!lock) throw new HandsRunningError(dataDir);
  failPoint("hands.start.after_lock");
  await runWithLock(options, lock);
  // Only after an orderly end. If something threw, what was started may still be alive: then the lock
  // goes with this process, and takes everything it started along.
  lock.release();
}

async function runWithLock(options: HandsLifeOptions, lock: FileLock): Promise<void> {
  const { dataDir, signal } = options;
  const times = { ...HANDS_TIMES, ...options.times };
  const installation = await installationId(dataDir);
  const adapters = await options.openAdapters();
  const { provider, clock, report } = adapters;
  await provider.reap();
  failPoint("hands.start.after_reap");
  const boot = bootId(newId("boot"), installation);
  const token = randomBytes(32).toString("base64url");
  const stop = new AbortController();
  const parts = await assembleHands(options, adapters, {
    ...{ times, boot, installationId: installation },
    onStopRequest: () => stop.abort(),
  });
  const server = new HandsServer({
    service: parts.service,
    token,
    boot,
    installationId: installation,
  });
  let reason: string | undefined;
  try {
    await publish(dataDir, server, {
      installation,
      boot,
      token,
      ...(options.network !== undefined && { network: options.network }),
    });
    report("started", { boot, pid: process.pid });
    const ended = AbortSignal.any([signal, stop.signal]);
    reason = await guardLife(
      {
        clock,
        everyMs: times.lookMs,
        quietMs: times.quietMs,
        quietSinceMs: () => parts.service.quietSinceMs,
        isLockHeld: () => lock.stillHeld(),
        isPublished: async () => (await readHandsFile(dataDir))?.boot === boot,
        onLook: () => look(parts),
        onProblem: (error) => {
          report("look_failed", { error });
          return undefined;
        },
      },
      ended,
    );
  } finally {
    report("ending", { boot, reason: reason ?? "asked to" });
    await removeHandsFile(dataDir, boot);
    await end(parts, server, clock, times.endMs);
    report("ended", { boot });
  }
}

function look({ keeper, mcp, checkpoints, keeping }: HandsParts): void {
  mcp.closeIdle();
  keeper.closeIdle();
  if (process.availableMemory() < keeping.freeMemoryBytesMin) keeper.closeOldest();
  keeper.fillSpares();
  checkpoints.look();
}

/** From here on these hands are found: only after the sandboxes of earlier boots are proved gone. */
async function publish(
  dataDir: string,
  server: HandsServer,
  identity: { installation: string; boot: string; token: string; network?: string },
): Promise<void> {
  const path = socketPath(dataDir);
  // An earlier boot's, for the lock is ours.
  if (path !== undefined) await rm(path, { force: true });
  const address = await server.listen(path);
  if (address.type === "socket") await chmod(address.path, 0o600);
  failPoint("hands.start.after_listen");
  await writeHandsFile(dataDir, {
    installation_id: identity.installation,
    boot: identity.boot,
    pid: process.pid,
    pid_start: await processStart(process.pid),
    address,
    token: identity.token,
    protocol: PROTOCOL_VERSION,
    ...(identity.network !== undefined && { network: identity.network }),
  });
  failPoint("hands.start.after_publish");
}

async function end(
  parts: HandsParts,
  server: HandsServer,
  clock: Clock,
  endMs: number,
): Promise<void> {
  using deadline = new Deadline(clock, endMs);
  const missed = deadline.passed.then(() => {
    throw new Error(`the hands did not end within ${endMs} ms`);
  });
  await Promise.race([endOrderly(parts, server), missed]);
}

async function endOrderly(
  { service, mcp, keeper, checkpoints }: HandsParts,
  server: HandsServer,
): Promise<void> {
  await server.close();
  await service.endCalls();
  await mcp.close();
  await keeper.closeAll();
  await checkpoints.rest();
}
