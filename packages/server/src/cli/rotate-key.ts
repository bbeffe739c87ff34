import { mkdirSync } from "node:fs";
import { readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { createKeys, type Keys, newKey } from "../app/keys.ts";
import type { Config } from "../config.ts";
import type { Store } from "../core/ports/store.ts";
import { acquireFileLock } from "../lib/file-lock.ts";
import { newId } from "../lib/new-id.ts";
import { OperatorError } from "../lib/operator-error.ts";
import { Secret } from "../lib/secret.ts";
import { writeFileAtomically } from "../lib/write-file-atomically.ts";
import { openStore } from "../serve/open-store.ts";
import { apiKeyFor, apiKeyPath } from "./api-key.ts";

/**
 * Replaces the kept key and revokes the one before, for which no server may run. The new key is on disk
 * before the old is revoked, so that a rotation that was cut off is finished by the next.
 */
export async function rotateApiKey(config: Config): Promise<Secret> {
  if (config.apiKey !== undefined) {
    throw new OperatorError("The key is the setting DROVER_API_KEY; it is changed there.");
  }
  mkdirSync(config.data, { recursive: true, mode: 0o700 });
  const lock = acquireFileLock(join(config.data, "serve.lock"));
  if (lock === undefined) {
    throw new OperatorError(
      "A server is running on the data folder; stop it with `drover stop`, rotate the key and start it again.",
    );
  }
  try {
    const path = apiKeyPath(config.data);
    const next = (await unfinished(`${path}.next`)) ?? newKey();
    await writeFileAtomically(`${path}.next`, `${next.reveal()}\n`, { mode: 0o600 });
    await replaceInStore(config, apiKeyFor(config), next);
    await rename(`${path}.next`, path);
    return next;
  } finally {
    lock.release();
  }
}

async function unfinished(path: string): Promise<Secret | undefined> {
  try {
    return new Secret((await readFile(path, "utf8")).trim());
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

async function replaceInStore(config: Config, old: Secret, next: Secret): Promise<void> {
  const quiet = { error: () => undefined, info: () => undefined };
  const store = await openStore(config, { publish: () => undefined }, quiet);
  try {
    await replace(store, createKeys({ store, newId }), old, next);
  } finally {
    await store.close();
  }
}

async function replace(store: Store, keys: Keys, old: Secret, next: Secret): Promise<void> {
  const principal = await keys.authenticate(old.reveal());
  // Never used, or revoked by a rotation that was cut off: the file is all there is to change.
  if (principal === undefined) return;
  await store.write(async (tx) => {
    await keys.ensureFirst(tx, principal.workspaceId, next);
    await keys.revoke(tx, principal, { id: principal.keyId });
  });
}
