import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { many, pairs } from "../support/agents.ts";
import { accepted, all, assertHas, assertTime, refused } from "../support/expect.ts";
import { credentialWith, newVault, noVaultWith, vaultWith } from "../support/vaults.ts";

const INVALID = { status: 400, type: "invalid_request_error" };
const MISSING = { status: 404, type: "not_found_error" };

/** Vaults; for what is in them see `credentials.ts`. */
export const vaults: readonly Scenario[] = [
  scenario(
    "a vault is made of a display name and metadata",
    {
      verifies: [
        "vaults.object",
        "vaults.object.times",
        "vaults.create.name",
        "vaults.create.metadata",
        "vaults.create.metadata-max",
        "vaults.create.unknown-field",
        "vaults.retrieve",
      ],
      rows: [101],
    },
    async (t) => {
      const minimal = await vaultWith(t, { display_name: "v" });
      assert.ok(minimal.id.length > 0);
      assertTime(minimal.created_at);
      assertTime(minimal.updated_at);
      assertHas(minimal, { type: "vault", display_name: "v", metadata: {}, archived_at: null });
      assert.deepEqual(await t.client.beta.vaults.retrieve(minimal.id), minimal);
      const metadata = { ...pairs(15), ["k".repeat(64)]: "v".repeat(512) };
      const longest = { display_name: "ü".repeat(255), metadata };
      assertHas(await vaultWith(t, longest), longest);
      for (const display_name of [undefined, null, "", "x".repeat(256), 7]) {
        await noVaultWith(t, { display_name }, /display_name/);
      }
      for (const bad of [
        pairs(17),
        { ["k".repeat(65)]: "" },
        { k: "v".repeat(513) },
        { k: null },
      ]) {
        await noVaultWith(t, { metadata: bad }, /metadata/);
      }
      await noVaultWith(t, { description: "d" }, /description/);
    },
  ),

  scenario(
    "an update replaces the name and patches the metadata of a vault",
    {
      verifies: [
        "vaults.update.name",
        "vaults.update.name-limits",
        "vaults.update.metadata",
        "vaults.update.metadata-null",
        "vaults.update.metadata-max",
        "vaults.update.updated-at",
        "vaults.update.whole",
      ],
      rows: [101],
    },
    async (t) => {
      const { vaults: api } = t.client.beta;
      const made = await vaultWith(t, { metadata: { a: "1", b: "2" } });
      const kept = await api.update(made.id, { display_name: null, metadata: null });
      assert.deepEqual(kept, made);
      assert.deepEqual(await api.update(made.id, {}), made);
      const metadata = { a: null, b: "3", c: "4" };
      const changed = await api.update(made.id, { display_name: "renamed", metadata });
      assertHas(changed, { display_name: "renamed", created_at: made.created_at });
      assert.deepEqual(changed.metadata, { b: "3", c: "4" });
      assert.ok(changed.updated_at > made.updated_at);
      const says = (pattern: RegExp) => ({ ...INVALID, says: pattern });
      await refused(api.update(made.id, { display_name: "" }), says(/display_name/));
      await refused(api.update(made.id, { display_name: "x".repeat(256) }), says(/display_name/));
      const many15 = { display_name: "not this", metadata: pairs(15) };
      await refused(api.update(made.id, many15), says(/metadata/));
      assert.deepEqual(await api.retrieve(made.id), changed);
      const exactly16 = await api.update(made.id, { metadata: pairs(14) });
      assert.equal(Object.keys(exactly16.metadata).length, 16);
    },
  ),

  scenario(
    "an archived vault is read and deleted, and nothing else",
    {
      verifies: [
        "vaults.archive.time",
        "vaults.archive.again",
        "vaults.archive.listed",
        "vaults.archive.final",
        "vaults.archive.closed",
        "vaults.update.archived",
      ],
      rows: [101],
    },
    async (t) => {
      const { vaults: api } = t.client.beta;
      const made = await newVault(t);
      await credentialWith(t, made);
      const isListed = async (params: object) =>
        (await all(api.list(params))).some(({ id }) => id === made.id);
      assert.equal(await isListed({}), true);
      const archived = await api.archive(made.id);
      assertTime(archived.archived_at);
      assertHas(archived, { id: made.id, display_name: made.display_name });
      assert.deepEqual(await api.archive(made.id), archived);
      assert.deepEqual(await api.retrieve(made.id), archived);
      const flags = [{}, { include_archived: false }, { include_archived: true }];
      const seen = await Promise.all(flags.map((flag) => isListed(flag)));
      assert.deepEqual(seen, [false, false, true]);
      const closed = { ...INVALID, says: /archived/ };
      await refused(api.update(made.id, { display_name: "x" }), closed);
      await refused(credentialWith(t, made), closed);
      assertHas(await api.delete(made.id), { type: "vault_deleted" });
    },
  ),

  scenario(
    "archiving a vault archives what is in it",
    { verifies: ["vaults.archive.credentials"], rows: [101] },
    async (t) => {
      const { vaults: api } = t.client.beta;
      const vault = await newVault(t);
      const [early, active] = [await credentialWith(t, vault), await credentialWith(t, vault)];
      const before = await api.credentials.archive(early.id, { vault_id: vault.id });
      await api.archive(vault.id);
      assert.deepEqual(await all(api.credentials.list(vault.id)), []);
      const kept = await all(api.credentials.list(vault.id, { include_archived: true }));
      assert.equal(kept.length, 2);
      for (const { archived_at } of kept) assertTime(archived_at);
      assert.deepEqual(
        kept.find(({ id }) => id === early.id),
        before,
      );
      assertHas(
        kept.find(({ id }) => id === active.id),
        { auth: active.auth },
      );
      const other = await newVault(t);
      assertHas(await credentialWith(t, other), { archived_at: null });
    },
  ),

  scenario(
    "a deleted vault is gone with its credentials",
    {
      verifies: ["vaults.delete", "vaults.delete.tombstone", "vaults.delete.gone"],
      rows: [101],
    },
    async (t) => {
      const { vaults: api } = t.client.beta;
      const [gone, kept] = [await newVault(t), await newVault(t)];
      const credential = await credentialWith(t, gone);
      const deleted = accepted(await t.request("DELETE", `/v1/vaults/${gone.id}`));
      assert.deepEqual(deleted, { id: gone.id, type: "vault_deleted" });
      await refused(api.retrieve(gone.id), MISSING);
      await refused(api.delete(gone.id), MISSING);
      await refused(api.credentials.retrieve(credential.id, { vault_id: gone.id }), MISSING);
      assert.deepEqual(await api.retrieve(kept.id), kept);
      const listed = await all(api.list({ include_archived: true }));
      assert.equal(
        listed.some(({ id }) => id === gone.id),
        false,
      );
    },
  ),

  scenario(
    "vaults that there are not, or that are another workspace's, are not found",
    {
      verifies: ["vaults.retrieve.unknown", "vaults.retrieve.workspace"],
      rows: [101],
      needs: ["other-workspace"],
    },
    async (t) => {
      const vault = await newVault(t);
      const stranger = t.clientWith({ apiKey: t.key("other-workspace") });
      for (const [{ vaults: api }, id] of [
        [t.client.beta, "vlt_of_nobody"],
        [stranger.beta, vault.id],
      ] as const) {
        await refused(api.retrieve(id), MISSING);
        await refused(api.update(id, { display_name: "mine" }), MISSING);
        await refused(api.archive(id), MISSING);
        await refused(api.delete(id), MISSING);
      }
      const theirs = await all(stranger.beta.vaults.list({ include_archived: true }));
      assert.equal(
        theirs.some(({ id }) => id === vault.id),
        false,
      );
      assert.deepEqual(await t.client.beta.vaults.retrieve(vault.id), vault);
    },
  ),

  scenario(
    "a key that may only read sees vaults and makes none",
    { verifies: ["vaults.read-only"], needs: ["read-only-key"] },
    async (t) => {
      const vault = await newVault(t);
      const { vaults: api } = t.clientWith({ apiKey: t.key("read-only-key") }).beta;
      assert.deepEqual(await api.retrieve(vault.id), vault);
      const forbidden = { status: 403, type: "permission_error" };
      await refused(api.create({ display_name: "x" }), forbidden);
      await refused(api.delete(vault.id), forbidden);
    },
  ),

  scenario(
    "vaults are listed newest first, each once, at any page size",
    { verifies: ["vaults.list.paged", "vaults.list.order"], rows: [5, 101] },
    async (t) => {
      const made = await Promise.all(many(5, () => newVault(t)));
      for (const limit of [3, 7]) {
        const listed = await all(t.client.beta.vaults.list({ limit }));
        const times = listed.map(({ created_at }) => created_at);
        assert.deepEqual(times, times.toSorted().reverse());
        for (const { id } of made) {
          assert.equal(listed.filter((vault) => vault.id === id).length, 1);
        }
      }
    },
  ),
];
