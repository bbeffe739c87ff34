import { createHash, randomBytes } from "node:crypto";
import {
  type ApiKey,
  type ApiKeyCreateParams,
  type ApiKeyListQuery,
  idPrefixes,
  type Page,
} from "@drover/api";
import { InvalidRequestError, NotFoundError } from "../core/errors.ts";
import type { ApiKeyRecord } from "../core/ports/records.ts";
import type { Store, StoreTransaction } from "../core/ports/store.ts";
import { Secret } from "../lib/secret.ts";
import { type Cursors, readPage } from "./pagination.ts";
import type { NewId, Principal } from "./principal.ts";
import { assertAdmin, getWorkspace } from "./workspaces.ts";

const KEY_PREFIX = "drv_";
const KEY_BYTES = 32;
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** Digits of 62 that 32 bytes take at most. */
const KEY_DIGITS = 43;
/** Characters. Longer tokens are not worth a hash. */
const TOKEN = { min: 16, max: 512 };
/** The key that the settings or the first start gave; there is one at a time. */
const FIRST_KEY = "first key";

/**
 * Keys to workspaces. What names no workspace is about the caller's own; an admin of the first one may
 * name any.
 */
export interface Keys {
  /** The key itself is in the answer and nowhere else. Only an admin may. */
  create(
    tx: StoreTransaction,
    principal: Principal,
    params: ApiKeyCreateParams,
  ): Promise<{ apiKey: ApiKey; key: Secret }>;
  /**
   * For good; again is no error. Only an admin may, and never with the last admin key of the own
   * workspace.
   */
  revoke(
    tx: StoreTransaction,
    principal: Principal,
    which: { id: string; workspaceId?: string | undefined },
  ): Promise<ApiKey>;
  /** Undefined for a token that is no key, or a revoked one. */
  authenticate(token: string): Promise<Principal | undefined>;
  /**
   * Sees to it at start that the workspace has an admin key: `given` if it is set and not known yet,
   * else a new one if there is none at all. A new given key revokes the one before. Answers what was stored now, undefined if nothing was. A
   * given key that was revoked stays so.
   */
  ensureFirst(
    tx: StoreTransaction,
    workspaceId: string,
    given?: Secret,
  ): Promise<Secret | undefined>;
}

export function createKeys({ store, newId }: { store: Store; newId: NewId }): Keys {
  const insert = async (
    tx: StoreTransaction,
    key: Secret,
    fields: Pick<ApiKeyRecord, "workspace_id" | "name" | "role">,
  ): Promise<ApiKey> => {
    const record: ApiKeyRecord = {
      ...fields,
      id: newId(idPrefixes.apiKey),
      key_sha256: hashOf(key.reveal()),
      created_at: tx.now,
      revoked_at: null,
    };
    await tx.apiKeys.insert(record);
    return shown(record);
  };
  return {
    create: async (tx, principal, { name, role, workspace_id }) => {
      assertAdmin(principal);
      const workspace = await workspaceIdOf(tx, principal, workspace_id ?? undefined);
      const key = newKey();
      return { apiKey: await insert(tx, key, { workspace_id: workspace, name, role }), key };
    },
    revoke: revokeKey,
    authenticate: async (token) => {
      if (token.length < TOKEN.min || token.length > TOKEN.max) return undefined;
      const record = await store.apiKeys.findBySha256(hashOf(token));
      if (record === undefined) return undefined;
      return { workspaceId: record.workspace_id, keyId: record.id, role: record.role };
    },
    ensureFirst: async (tx, workspaceId, given) => {
      const known = await tx.apiKeys.list(workspaceId);
      const isKnown =
        given !== undefined &&
        known.some(({ key_sha256 }) => key_sha256 === hashOf(given.reveal()));
      const isEnough = given === undefined && known.some(isLiveAdmin);
      if (isKnown || isEnough) return undefined;
      if (given !== undefined) assertUsable(given);
      const key = given ?? newKey();
      // Whoever changes the setting wants the key before it to be worth nothing any more.
      for (const { id, name, revoked_at } of known) {
        if (name !== FIRST_KEY || revoked_at !== null) continue;
        await tx.apiKeys.revoke(workspaceId, id, tx.now);
      }
      await insert(tx, key, { workspace_id: workspaceId, name: FIRST_KEY, role: "admin" });
      return key;
    },
  };
}

/** Newest first. Only an admin may. */
export async function listKeys(
  { store, cursors }: { store: Store; cursors: Cursors },
  principal: Principal,
  query: ApiKeyListQuery,
): Promise<Page<ApiKey>> {
  assertAdmin(principal);
  const workspaceId = await workspaceIdOf(store, principal, query.workspace_id);
  const { data, next_page } = await readPage({
    cursors,
    scope: { workspaceId, list: "api_keys", order: "desc" },
    query,
    read: (page) => store.apiKeys.listPage(workspaceId, page),
    present: shown,
  });
  return { data, next_page };
}

/** 256 random bits, so that its hash needs neither salt nor stretching. */
export function newKey(): Secret {
  let rest = BigInt(`0x${randomBytes(KEY_BYTES).toString("hex")}`);
  let digits = "";
  for (let place = 0; place < KEY_DIGITS; place++) {
    digits = (BASE62[Number(rest % 62n)] ?? "") + digits;
    rest /= 62n;
  }
  return new Secret(KEY_PREFIX + digits);
}

/** Lowercase hex SHA-256: what is stored of a key. */
export function hashOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

async function workspaceIdOf(
  store: Pick<Store, "workspaces">,
  principal: Principal,
  id: string | undefined,
): Promise<string> {
  if (id === undefined || id === principal.workspaceId) return principal.workspaceId;
  return (await getWorkspace(store, principal, id)).id;
}

async function revokeKey(
  tx: StoreTransaction,
  principal: Principal,
  { id, workspaceId: wanted }: { id: string; workspaceId?: string | undefined },
): Promise<ApiKey> {
  assertAdmin(principal);
  const workspaceId = await workspaceIdOf(tx, principal, wanted);
  const records = await tx.apiKeys.list(workspaceId);
  const record = records.find((each) => each.id === id);
  if (record === undefined) throw new NotFoundError(`there is no API key ${id}`);
  if (record.revoked_at !== null) return shown(record);
  const isOwn = workspaceId === principal.workspaceId;
  if (isOwn && !records.some((each) => each.id !== id && isLiveAdmin(each))) {
    throw new InvalidRequestError("the last admin key cannot be revoked: make another one first");
  }
  await tx.apiKeys.revoke(workspaceId, id, tx.now);
  return shown({ ...record, revoked_at: tx.now });
}

function isLiveAdmin(record: ApiKeyRecord): boolean {
  return record.role === "admin" && record.revoked_at === null;
}

function assertUsable(key: Secret): void {
  const text = key.reveal();
  if (text.length < TOKEN.min || text.length > TOKEN.max || !/^[!-~]+$/.test(text)) {
    throw new InvalidRequestError(
      `the given API key must have ${TOKEN.min}-${TOKEN.max} printable characters without blanks`,
    );
  }
}

/** A key as it may be shown: never the key itself, nor its hash. */
function shown({ key_sha256: _hash, ...record }: ApiKeyRecord): ApiKey {
  return { ...record, type: "api_key" };
}
