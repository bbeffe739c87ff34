import { describe, expect, test } from "vitest";
import { ConflictError } from "../errors.ts";
import { type OpenStore, START, uniqueId } from "./store.testsuite.ts";
import type { Store } from "./store.ts";
import type { CredentialRecord, VaultRecord } from "./vaults.ts";

const at = (ms: number): string => new Date(START + ms).toISOString();
const FIRST = { limit: 100, order: "asc" } as const;
const ALL = { includeArchived: true };

/** The contract of `Vaults` and `Credentials`, run by the test of every implementation. */
export function testVaults(open: OpenStore): void {
  describe("Vaults", () => testVaultRecords(open));
  describe("Credentials", () => {
    testCredentialRecords(open);
    testCredentialKeys(open);
    testCredentialEnds(open);
  });
}

function testVaultRecords(open: OpenStore): void {
  test("stores, changes and lists vaults, each in its workspace", async () => {
    await using world = await open();
    const { store } = world;
    const first = newVault();
    const { workspace_id, id } = first;
    const second = newVault({ workspace_id, created_at: at(10) });
    await store.write((tx) => tx.vaults.insert(first));
    await store.write((tx) => tx.vaults.insert(second));
    expect(await store.vaults.find(workspace_id, id)).toEqual(first);
    expect(await store.vaults.find(uniqueId("wrkspc"), id)).toBeUndefined();
    const changed = { ...first, display_name: "n", metadata: { a: "1" }, updated_at: at(5) };
    await store.write((tx) => tx.vaults.update(changed));
    await store.write((tx) => tx.vaults.update({ ...first, workspace_id: uniqueId("wrkspc") }));
    expect(await store.vaults.list(workspace_id, {}, FIRST)).toEqual([changed, second]);
    expect(await store.vaults.list(uniqueId("wrkspc"), ALL, FIRST)).toEqual([]);
    const page = { limit: 1, order: "desc", after: { created_at: at(10), id: second.id } } as const;
    expect(await store.vaults.list(workspace_id, {}, page)).toEqual([changed]);
    await store.write((tx) => tx.vaults.archive(workspace_id, id, at(7)));
    expect(await store.vaults.list(workspace_id, {}, FIRST)).toEqual([second]);
    const archived = { ...changed, archived_at: at(7) };
    expect(await store.vaults.list(workspace_id, ALL, FIRST)).toEqual([archived, second]);
  });

  test("a transaction finds what it has written, and whether it is archived", async () => {
    await using world = await open();
    const vault = newVault();
    const { workspace_id, id } = vault;
    const found = await world.store.write(async (tx) => {
      await tx.vaults.insert(vault);
      const before = await tx.vaults.find(workspace_id, id);
      await tx.vaults.archive(workspace_id, id, at(1));
      return [before?.archived_at, (await tx.vaults.find(workspace_id, id))?.archived_at];
    });
    expect(found).toEqual([null, at(1)]);
  });
}

function testCredentialRecords(open: OpenStore): void {
  test("stores, changes and lists credentials, each in its vault and workspace", async () => {
    await using world = await open();
    const { store } = world;
    const first = newCredential();
    const { workspace_id, vault_id, id } = first;
    const second = newCredential({ workspace_id, vault_id, created_at: at(10) });
    await insert(store, first);
    await insert(store, second);
    await insert(store, newCredential({ workspace_id }));
    expect(await store.credentials.find(workspace_id, vault_id, id)).toEqual(first);
    expect(await store.credentials.find(workspace_id, uniqueId("vlt"), id)).toBeUndefined();
    expect(await store.credentials.find(uniqueId("wrkspc"), vault_id, id)).toBeUndefined();
    const { archived_at, created_at, auth_key } = first;
    const changed = {
      ...newCredential({ workspace_id, vault_id, id, archived_at, created_at, auth_key }),
      ...{ display_name: null, metadata: {}, auth: { type: "other" }, updated_at: at(5) },
    };
    await store.write((tx) => tx.credentials.update(changed));
    const stranger = { ...first, workspace_id: uniqueId("wrkspc") };
    await store.write((tx) => tx.credentials.update(stranger, { token: "stolen" }));
    const list = (filter: object, page: object = FIRST) =>
      store.credentials.list(workspace_id, vault_id, filter, { ...FIRST, ...page });
    expect(await list({})).toEqual([changed, second]);
    expect(await list({}, { limit: 1, order: "desc" })).toEqual([second]);
    expect(await list({}, { after: { created_at: at(0), id } })).toEqual([second]);
    expect(await store.credentials.list(uniqueId("wrkspc"), vault_id, ALL, FIRST)).toEqual([]);
    expect(await sealedOf(store, changed)).toBe("sealed");
  });

  test("keeps the secrets unless new ones are given", async () => {
    await using world = await open();
    const { store } = world;
    const credential = newCredential();
    await insert(store, credential);
    await store.write((tx) => tx.credentials.update(credential));
    expect(await sealedOf(store, credential)).toBe("sealed");
    await store.write((tx) => tx.credentials.update(credential, { token: "sealed anew" }));
    expect(await sealedOf(store, credential)).toBe("sealed anew");
    expect(await sealedOf(store, { ...credential, workspace_id: "other" })).toBeUndefined();
  });

  test("replaces each secret by itself, and counts how often", async () => {
    await using world = await open();
    const { store } = world;
    const credential = newCredential();
    await store.write((tx) => tx.credentials.insert(credential, { token: "a", other: "b" }));
    await store.write((tx) => tx.credentials.update(credential, { other: "c" }));
    await store.write((tx) => tx.credentials.update(credential, { third: "d" }));
    expect(await secretsOf(store, credential)).toEqual({
      token: { sealed: "a", revision: 1 },
      other: { sealed: "c", revision: 2 },
      third: { sealed: "d", revision: 1 },
    });
  });

  test("keeps who exchanges a refresh token, until it is archived", async () => {
    await using world = await open();
    const { store } = world;
    const credential = newCredential();
    const { workspace_id, id } = credential;
    await insert(store, credential);
    const state = () => store.write((tx) => tx.credentials.findRefresh(workspace_id, id));
    const nothing = { claim: null, refused_at: null };
    expect(await state()).toEqual(nothing);
    const claim = { id: "claim_1", until: at(9), revisions: { token: 1 } };
    const claimed = { claim, refused_at: at(3) };
    await store.write((tx) => tx.credentials.putRefresh(workspace_id, id, claimed));
    expect(await state()).toEqual(claimed);
    await store.write((tx) => tx.credentials.putRefresh(workspace_id, id, nothing));
    expect(await state()).toEqual(nothing);
    await store.write((tx) => tx.credentials.putRefresh(workspace_id, id, claimed));
    await store.write((tx) => tx.credentials.archive(workspace_id, id, at(4)));
    expect(await state()).toEqual(nothing);
  });

  test("keeps what a credential is bound to", async () => {
    await using world = await open();
    const { store } = world;
    const credential = newCredential();
    const { workspace_id, id } = credential;
    await insert(store, credential);
    const found = () => store.write((tx) => tx.credentials.findBindings(workspace_id, [id, "x"]));
    expect(await found()).toEqual({});
    const binding = { methods: ["GET"], paths: ["/a/*"] };
    await store.write((tx) => tx.credentials.putBinding(uniqueId("wrkspc"), id, { methods: [] }));
    await store.write((tx) => tx.credentials.putBinding(workspace_id, id, binding));
    expect(await found()).toEqual({ [id]: binding });
    expect(await store.write((tx) => tx.credentials.findBindings(workspace_id, []))).toEqual({});
    await store.write((tx) => tx.credentials.putBinding(workspace_id, id, undefined));
    expect(await found()).toEqual({});
  });

  test("lists the active ones of several vaults", async () => {
    await using world = await open();
    const { store } = world;
    const workspace_id = uniqueId("wrkspc");
    const [first, second, archived] = [1, 2, 3].map(() => newCredential({ workspace_id }));
    const strange = newCredential();
    const all = [first, second, archived, strange].flatMap((each) => each ?? []);
    for (const each of all) await insert(store, each);
    await store.write((tx) => tx.credentials.archive(workspace_id, archived?.id ?? "", at(1)));
    const list = (...vaults: (string | undefined)[]) =>
      store.write((tx) =>
        tx.credentials.listActive(
          workspace_id,
          vaults.flatMap((id) => id ?? []),
        ),
      );
    expect(await list()).toEqual([]);
    const found = await list(...all.map(({ vault_id }) => vault_id));
    expect(found).toHaveLength(2);
    expect(found).toEqual(expect.arrayContaining([first, second]));
    expect(await list(second?.vault_id)).toEqual([second]);
  });
}

function testCredentialKeys(open: OpenStore): void {
  test("takes an auth_key once among the active ones of a vault", async () => {
    await using world = await open();
    const { store } = world;
    const first = newCredential();
    const { workspace_id, vault_id, auth_key } = first;
    const again = () => insert(store, newCredential({ workspace_id, vault_id, auth_key }));
    await insert(store, first);
    await expect(again()).rejects.toThrow(ConflictError);
    await expect(again()).rejects.toThrow("secret_name");
    await insert(store, newCredential({ workspace_id, auth_key }));
    await insert(store, newCredential({ auth_key }));
    const count = () => store.write((tx) => tx.credentials.countActive(workspace_id, vault_id));
    expect(await count()).toBe(1);
    await store.write((tx) => tx.credentials.archive(workspace_id, first.id, at(1)));
    expect(await count()).toBe(0);
    await again();
    expect(await count()).toBe(1);
    await expect(again()).rejects.toThrow(ConflictError);
  });

  test("of several at once that have one auth_key, one is stored", async () => {
    await using world = await open();
    const { store } = world;
    const { workspace_id, vault_id, auth_key } = newCredential();
    const outcomes = await Promise.allSettled(
      [1, 2, 3, 4].map(() => insert(store, newCredential({ workspace_id, vault_id, auth_key }))),
    );
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });
}

function testCredentialEnds(open: OpenStore): void {
  test("archiving one takes its secrets away and leaves the record", async () => {
    await using world = await open();
    const { store } = world;
    const credential = newCredential();
    const { workspace_id, vault_id, id } = credential;
    const other = newCredential({ workspace_id, vault_id });
    await insert(store, credential);
    await insert(store, other);
    await store.write((tx) => tx.credentials.archive(uniqueId("wrkspc"), id, at(1)));
    expect(await sealedOf(store, credential)).toBe("sealed");
    await store.write((tx) => tx.credentials.archive(workspace_id, id, at(1)));
    expect(await sealedOf(store, credential)).toBeUndefined();
    expect(await sealedOf(store, other)).toBe("sealed");
    const archived = { ...credential, archived_at: at(1) };
    expect(await store.credentials.find(workspace_id, vault_id, id)).toEqual(archived);
    expect(await store.credentials.list(workspace_id, vault_id, {}, FIRST)).toEqual([other]);
  });

  test("archiving a vault archives what is active in it, and nothing of another", async () => {
    await using world = await open();
    const { store } = world;
    const vault = newVault();
    const place = { workspace_id: vault.workspace_id, vault_id: vault.id };
    const [early, active] = [newCredential(place), newCredential({ ...place, created_at: at(9) })];
    const other = newCredential({ workspace_id: vault.workspace_id });
    await store.write((tx) => tx.vaults.insert(vault));
    for (const each of [early, active, other]) await insert(store, each);
    await store.write((tx) => tx.credentials.archive(vault.workspace_id, early.id, at(1)));
    await store.write((tx) => tx.vaults.archive(vault.workspace_id, vault.id, at(20)));
    const kept = await store.credentials.list(vault.workspace_id, vault.id, ALL, FIRST);
    expect(kept).toEqual([
      { ...early, archived_at: at(1) },
      { ...active, archived_at: at(20) },
    ]);
    expect(await sealedOf(store, active)).toBeUndefined();
    expect(await sealedOf(store, other)).toBe("sealed");
  });

  test("deletes a credential, and a vault with all of its", async () => {
    await using world = await open();
    const { store } = world;
    const vault = newVault();
    const place = { workspace_id: vault.workspace_id, vault_id: vault.id };
    const [first, second] = [newCredential(place), newCredential(place)];
    const other = newCredential({ workspace_id: vault.workspace_id });
    await store.write((tx) => tx.vaults.insert(vault));
    for (const each of [first, second, other]) await insert(store, each);
    await store.write((tx) => tx.credentials.delete(uniqueId("wrkspc"), first.id));
    await store.write((tx) => tx.vaults.delete(uniqueId("wrkspc"), vault.id));
    const left = () => store.credentials.list(vault.workspace_id, vault.id, ALL, FIRST);
    expect(await left()).toHaveLength(2);
    await store.write((tx) => tx.credentials.delete(vault.workspace_id, first.id));
    expect(await left()).toEqual([second]);
    await store.write((tx) => tx.vaults.delete(vault.workspace_id, vault.id));
    expect(await left()).toEqual([]);
    expect(await store.vaults.find(vault.workspace_id, vault.id)).toBeUndefined();
    expect(await sealedOf(store, other)).toBe("sealed");
  });
}

function insert(store: Store, credential: CredentialRecord): Promise<void> {
  return store.write((tx) => tx.credentials.insert(credential, { token: "sealed" }));
}

async function sealedOf(store: Store, credential: CredentialRecord): Promise<string | undefined> {
  return (await secretsOf(store, credential))["token"]?.sealed;
}

function secretsOf(store: Store, { workspace_id, id }: CredentialRecord) {
  return store.write((tx) => tx.credentials.findSecrets(workspace_id, id));
}

function newVault(changes: Partial<VaultRecord> = {}): VaultRecord {
  return {
    workspace_id: uniqueId("wrkspc"),
    id: uniqueId("vlt"),
    display_name: "team",
    metadata: { team: "a" },
    created_at: at(0),
    updated_at: at(0),
    archived_at: null,
    ...changes,
  };
}

export function newCredential(changes: Partial<CredentialRecord> = {}): CredentialRecord {
  return {
    workspace_id: uniqueId("wrkspc"),
    id: uniqueId("vcrd"),
    vault_id: uniqueId("vlt"),
    auth_key: `secret_name ${uniqueId("NAME")}`,
    display_name: "token",
    metadata: { a: "b" },
    auth: { type: "environment_variable", secret_name: "NAME" },
    created_at: at(0),
    updated_at: at(0),
    archived_at: null,
    ...changes,
  };
}
