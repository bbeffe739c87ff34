import type { SealedPosition } from "../core/ports/encryption.ts";
import type { RotatingSecretBox } from "../core/ports/secret-box.ts";
import type { Store, StoreTransaction } from "../core/ports/store.ts";
import { OperatorError } from "../lib/operator-error.ts";

/** Secrets that are renewed in one transaction: others wait for it, a few milliseconds. */
const BATCH_SIZE = 100;

/**
 * Notes that the box's current key is in use. Rejects with an `OperatorError`, whose sentence names
 * `source`, if secrets may be stored under a key that the box does not have: they could not be read.
 */
export async function useCurrentKey(
  tx: StoreTransaction,
  box: RotatingSecretBox,
  source: string,
): Promise<void> {
  const keys = await tx.encryptionKeys.list();
  const inUse = keys.filter(({ retired_at }) => retired_at === null).map(({ key_id }) => key_id);
  const missing = inUse.filter((id) => !box.keyIds().includes(id));
  if (missing.length > 0) {
    throw new OperatorError(
      `The database holds secrets under the encryption key ${missing.join(" and ")}, which ${source} does not hold; put that key back beside the others, or the secrets cannot be read.`,
    );
  }
  if (!inUse.includes(box.currentKeyId())) await tx.encryptionKeys.use(box.currentKeyId());
}

export interface Renewal {
  /** Secrets that are under the current key now, and were not. */
  readonly renewed: number;
  /** Keys that nothing uses any more, for longer than any process may have them in use. */
  readonly unusedKeyIds: readonly string[];
}

/**
 * Puts every stored secret under the box's current key, in small transactions, while others read and
 * write. May be cut off anywhere and begun again. Rejects with an `OperatorError` if a secret does not
 * open, when all others are renewed.
 */
export async function renewSecrets(
  { store, box }: { store: Pick<Store, "write">; box: RotatingSecretBox },
  /** Called after each transaction with the number of secrets that it renewed. */
  onBatch: (renewed: number) => void,
): Promise<Renewal> {
  let renewed = 0;
  let unreadable = 0;
  let after: SealedPosition | undefined;
  do {
    const batch = await store.write((tx) => renewBatch(tx, box, after));
    renewed += batch.renewed;
    unreadable += batch.unreadable;
    after = batch.last;
    onBatch(batch.renewed);
  } while (after !== undefined);
  if (unreadable > 0) {
    throw new OperatorError(
      `${unreadable} stored secrets do not open, since they were changed or their key is gone; the others are under the new key. Put the missing key back and run this again, or archive those credentials.`,
    );
  }
  const unusedKeyIds = await store.write((tx) => retireOthers(tx, box.currentKeyId()));
  return { renewed, unusedKeyIds };
}

interface Batch {
  readonly renewed: number;
  readonly unreadable: number;
  /** Undefined at the end. */
  readonly last: SealedPosition | undefined;
}

async function renewBatch(
  tx: StoreTransaction,
  box: RotatingSecretBox,
  after: SealedPosition | undefined,
): Promise<Batch> {
  const texts = await tx.sealedTexts.list({ limit: BATCH_SIZE, ...(after && { after }) });
  let renewed = 0;
  let unreadable = 0;
  for (const text of texts) {
    const sealed = renewedOrUndefined(box, text.sealed);
    if (sealed === undefined) unreadable += 1;
    if (sealed === undefined || sealed === text.sealed) continue;
    await tx.sealedTexts.replace(text, sealed);
    renewed += 1;
  }
  return { renewed, unreadable, last: texts.at(-1)?.position };
}

function renewedOrUndefined(box: RotatingSecretBox, sealed: string): string | undefined {
  try {
    return box.renew(sealed);
  } catch {
    // Counted by the caller, who goes on with the others.
    return undefined;
  }
}

/**
 * A key that was in use until now may still be the first for a server that sees the new one late. One
 * that an earlier renewal had retired is not.
 */
async function retireOthers(tx: StoreTransaction, currentKeyId: string): Promise<string[]> {
  const others = (await tx.encryptionKeys.list()).filter(({ key_id }) => key_id !== currentKeyId);
  const unused: string[] = [];
  for (const { key_id, retired_at } of others) {
    if (retired_at === null) {
      await tx.encryptionKeys.retire(key_id, tx.now);
    } else {
      await tx.encryptionKeys.remove(key_id);
      unused.push(key_id);
    }
  }
  return unused;
}
