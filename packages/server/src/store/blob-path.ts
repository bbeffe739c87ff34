import { join } from "node:path";

const WORKSPACE_ID = /^[A-Za-z0-9_-]{1,128}$/;
const SHA256 = /^[0-9a-f]{64}$/;

export function isWorkspaceId(text: string): boolean {
  return WORKSPACE_ID.test(text);
}

/** True for lowercase hex SHA-256. */
export function isSha256(text: string): boolean {
  return SHA256.test(text);
}

/**
 * Where a blob is in the folder of `LocalBlobs`: its hash in two levels, within its workspace's
 * folder. Throws a plain `Error` for what is no workspace id or hash: it would name another path.
 */
export function blobPath(root: string, workspaceId: string, sha256: string): string {
  if (!isWorkspaceId(workspaceId)) {
    throw new Error(`${JSON.stringify(workspaceId)} is no workspace id`);
  }
  if (!SHA256.test(sha256)) throw new Error(`${JSON.stringify(sha256)} is no SHA-256`);
  return join(root, workspaceId, sha256.slice(0, 2), sha256.slice(2, 4), sha256);
}
