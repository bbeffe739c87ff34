import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { renewSecrets } from "../app/encryption.ts";
import type { Config } from "../config.ts";
import { StoreUnavailableError } from "../core/errors.ts";
import type { Store } from "../core/ports/store.ts";
import { acquireFileLock } from "../lib/file-lock.ts";
import { OperatorError } from "../lib/operator-error.ts";
import { type Encryption, openEncryption } from "../serve/encryption.ts";
import { openStore } from "../serve/open-store.ts";

/** A server that writes without end makes this process wait for its turn, so often and so long. */
const TURNS_MAX = 100;
const TURN_MS = 100;

/**
 * Adds a new encryption key to the data folder's file and puts every stored secret under it; where the
 * keys are a setting, puts them under its first. Servers may run meanwhile. One that was cut off is
 * finished by the next, without another key. Answers what was done, for the person who asked.
 */
export async function rotateEncryptionKey(
  config: Config,
  onBatch: (renewed: number) => void,
): Promise<string> {
  mkdirSync(config.data, { recursive: true, mode: 0o700 });
  const lock = acquireFileLock(join(config.data, "rotate-encryption-key.lock"));
  if (lock === undefined) {
    throw new OperatorError("The encryption key is being rotated by another process; wait for it.");
  }
  const quiet = { error: () => undefined, info: () => undefined };
  const store = await openStore(config, { publish: () => undefined }, quiet);
  try {
    return await rotate(config, patient(store), onBatch);
  } finally {
    await store.close();
    lock.release();
  }
}

type RotationStore = Pick<Store, "write" | "encryptionKeys">;

async function rotate(
  config: Config,
  store: RotationStore,
  onBatch: (renewed: number) => void,
): Promise<string> {
  const { box, keyFile } = await openEncryption(config, store);
  if (keyFile !== undefined && !(await isUnfinished(store, box))) {
    await keyFile.add();
    await store.write((tx) => tx.encryptionKeys.use(box.currentKeyId()));
  }
  const { renewed, unusedKeyIds } = await renewSecrets({ store, box }, onBatch);
  await keyFile?.remove(unusedKeyIds);
  const done = `${renewed} stored secrets were put under the encryption key ${box.currentKeyId()}.`;
  return keyFile === undefined
    ? `${done} The others in DROVER_ENCRYPTION_KEY are not needed any more once every server has it first.`
    : `${done} The one before it stays in the key file until the next rotation.`;
}

/** True if a key was added whose rotation did not come to its end. */
async function isUnfinished(store: RotationStore, box: Encryption["box"]): Promise<boolean> {
  const keys = await store.encryptionKeys.list();
  return keys.some(
    ({ key_id, retired_at }) => retired_at === null && key_id !== box.currentKeyId(),
  );
}

/** The store, whose writes wait for those of a server. */
function patient(store: Store): RotationStore {
  return {
    encryptionKeys: store.encryptionKeys,
    write: async (work) => {
      for (let turn = 1; ; turn += 1) {
        try {
          return await store.write(work);
        } catch (error) {
          if (!(error instanceof StoreUnavailableError) || turn === TURNS_MAX) throw error;
          await setTimeout(TURN_MS);
        }
      }
    },
  };
}
