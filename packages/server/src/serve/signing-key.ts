import { randomBytes } from "node:crypto";
import type { Store } from "../core/ports/store.ts";

const KEY_BYTES = 32;

/** A key of that name, made once a database, so that what one server of it signs, all of them read. */
export async function signingKey(
  store: Pick<Store, "write">,
  name: "cursors" | "grants",
): Promise<Uint8Array> {
  const made = randomBytes(KEY_BYTES).toString("base64url");
  const key = await store.write((tx) => tx.serverKeys.ensure(name, made));
  return Buffer.from(key, "base64url");
}
