import { randomUUID } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { link, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { OperatorError } from "../lib/operator-error.ts";
import { Secret } from "../lib/secret.ts";
import { writeFileAtomically } from "../lib/write-file-atomically.ts";
import { type EncryptionKey, newEncryptionKey } from "./encryption-key.ts";
import type { KeyRing } from "./envelope-box.ts";
import { givenKeys } from "./given-keys.ts";

const MODE = 0o600;
/** More than any number of keys: what is larger is another file. */
const FILE_BYTES_MAX = 64 * 1024;
const HEAD =
  "# Keys of stored secrets: the first seals, all open. Without them the secrets are lost.";

/** Keys in a file of their own, one a line in base64, which other processes may change meanwhile. */
export interface KeyFile extends KeyRing {
  /** Puts a new key before the others, and on disk. Who shares the file seals with it from then on. */
  add(): Promise<void>;
  /** Takes keys out of the file, never the one that seals. */
  remove(keyIds: readonly string[]): Promise<void>;
}

/**
 * Opens the file, making it (0600) with one new key if it is not there: of several processes that do so
 * at once, one makes it and all get its key. Rejects with an `OperatorError` if it cannot be used.
 */
export async function openKeyFile(path: string): Promise<KeyFile> {
  if (!isThere(path)) await makeFile(path);
  const { keys, readAgain } = follow(path);
  const write = async (next: readonly EncryptionKey[]): Promise<void> => {
    await writeFileAtomically(path, contentOf(next), { mode: MODE });
    readAgain();
  };
  return {
    keys,
    add: () => write([newEncryptionKey(), ...keys()]),
    remove: async (keyIds) => {
      const [current, ...earlier] = keys();
      await write([current, ...earlier.filter(({ id }) => !keyIds.includes(id))]);
    },
  };
}

/** The keys of a file that another process makes and changes. Throws an `OperatorError` while it cannot be used. */
export function followKeyFile(path: string): KeyRing {
  if (!isThere(path)) throw new OperatorError(`There is no key file ${path}.`);
  return follow(path);
}

function follow(path: string): KeyRing & { readAgain(): void } {
  let known = readRing(path);
  const keys = (wantedId?: string): ReturnType<KeyRing["keys"]> => {
    // One look at the file's inode, a few microseconds, each time a secret is sealed or opened.
    const version = versionOf(path);
    const isMissing = (id: string) => known.ring.keys().every((key) => key.id !== id);
    const isChanged = version !== known.version;
    // A folder on the network may show the old state of a file until it is opened.
    const isHidden = wantedId !== undefined && isMissing(wantedId);
    if (version !== undefined && (isChanged || isHidden)) known = readRing(path);
    return known.ring.keys();
  };
  return {
    keys,
    readAgain() {
      known = readRing(path);
    },
  };
}

/** True if there is such a file, whatever is in it. */
export function isThere(path: string): boolean {
  return versionOf(path) !== undefined;
}

/** Linked under its name when its content is on disk, so that nobody reads half of it. */
async function makeFile(path: string): Promise<void> {
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFileAtomically(draft, contentOf([newEncryptionKey()]), { mode: MODE });
    await link(draft, path);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  } finally {
    await rm(draft, { force: true });
  }
  const folder = await open(dirname(path), "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function readRing(path: string): { version: string | undefined; ring: KeyRing } {
  const version = versionOf(path);
  const text = readFileSync(path, "utf8");
  if (text.length > FILE_BYTES_MAX) throw new OperatorError(`${path} is not a file of keys.`);
  const lines = text.split("\n").map((line) => line.trim());
  const keys = lines.filter((line) => line !== "" && !line.startsWith("#"));
  const secrets = keys.map((key) => new Secret(key));
  return { version, ring: givenKeys(secrets, `the key file ${path}`) };
}

function versionOf(path: string): string | undefined {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat && `${stat.dev}:${stat.ino}:${stat.mtimeNs}:${stat.size}`;
}

function contentOf(keys: readonly EncryptionKey[]): string {
  return [HEAD, ...keys.map(({ bytes }) => bytes.toString("base64")), ""].join("\n");
}
