import { randomBytes } from "node:crypto";
import type { Store } from "../core/ports/store.ts";

const KEY_BYTES = 32;

/** What cursors are signed with: made once a database, so that every server of it reads them all. */
export async function cursorKey(store: Pick<Store, "write">): Promise<Uint8Array> {
  const made = randomBytes(KEY_BYTES).toString("base64url");
  const key = await store.write((tx) => tx.serverKeys.ensure("cursors", made));
  return Buffer.from(key, "base64url");
}
