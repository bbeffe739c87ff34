import { createHmac, timingSafeEqual } from "node:crypto";

export interface SessionGrants {
  /** A text that only servers of this database can make, for what the parts name. */
  grantFor(...parts: readonly string[]): string;
  isGrant(grant: string, ...parts: readonly string[]): boolean;
}

/** `key` is what all servers of a database have in common, and nobody else. */
export function createGrants(key: Uint8Array): SessionGrants {
  const grantFor = (...parts: readonly string[]): string =>
    createHmac("sha256", key).update(JSON.stringify(parts)).digest("base64url");
  return {
    grantFor,
    isGrant: (grant, ...parts) => {
      const [given, right] = [Buffer.from(grant), Buffer.from(grantFor(...parts))];
      return given.byteLength === right.byteLength && timingSafeEqual(given, right);
    },
  };
}
