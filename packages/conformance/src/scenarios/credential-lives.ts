import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { many } from "../support/agents.ts";
import { accepted, all, assertHas, assertTime, refused } from "../support/expect.ts";
import {
  bearer,
  CANARY,
  credentialWith,
  newSecret,
  newVault,
  noCredentialWith,
  notUpdatedCredential,
  oauth,
  refresh,
  variable,
} from "../support/vaults.ts";

const MISSING = { status: 404, type: "not_found_error" };
const TAKEN = { status: 409, type: "conflict_error" };

/** Which credentials there can be in a vault, how they are found, and how they end. */
export const credentialLives: readonly Scenario[] = [
  scenario(
    "no answer and no error holds a secret",
    { verifies: ["credentials.secrets", "credentials.secrets.errors"], rows: [102] },
    async (t) => {
      const vault = await newVault(t);
      const path = `/v1/vaults/${vault.id}/credentials`;
      const statuses: number[] = [];
      const send = async (method: string, to: string, body?: unknown) => {
        const answer = await t.request(method, to, { ...(body !== undefined && { body }) });
        statuses.push(answer.status);
        assert.ok(!answer.text.includes(CANARY), `${method} ${to} answers with a secret`);
        assert.ok(!JSON.stringify([...answer.headers]).includes(CANARY));
        return answer.body;
      };
      for (const auth of [bearer(t), oauth(t, { refresh: refresh(t) }), variable(t)]) {
        const { id } = await send("POST", path, { auth });
        await send("POST", path, { auth });
        await send("POST", path, { auth: { ...auth, surplus: newSecret(t) } });
        await send("POST", path, { auth: { ...auth, type: newSecret(t) } });
        await send("POST", path, `{"auth":${JSON.stringify(auth)}`);
        await send("POST", `${path}/${id}`, { display_name: "x" });
        await send("POST", `${path}/${id}`, { auth });
        await send("GET", `${path}/${id}`);
        await send("GET", path);
        await send("POST", `${path}/${id}/archive`);
      }
      await send("GET", `${path}?include_archived=true`);
      assert.deepEqual(new Set(statuses), new Set([200, 400, 409]));
    },
  ),

  scenario(
    "a vault has one active credential for a server or a variable",
    {
      verifies: [
        "credentials.unique",
        "credentials.unique.types",
        "credentials.unique.form",
        "credentials.unique.vault",
        "credentials.unique.freed",
      ],
      rows: [4, 102],
    },
    async (t) => {
      const [vault, other] = [await newVault(t), await newVault(t)];
      const { credentials: api } = t.client.beta.vaults;
      const at = (mcp_server_url: string) => ({ auth: bearer(t, { mcp_server_url }) });
      const first = await credentialWith(t, vault, at("https://one.example.com/mcp"));
      const error = await refused(credentialWith(t, vault, at("https://one.example.com/mcp")), {
        ...TAKEN,
        says: /mcp_server_url/,
      });
      assert.equal(error.headers?.get("x-should-retry"), "false");
      for (const same of ["https://One.EXAMPLE.com/mcp", "https://one.example.com:443/mcp/"]) {
        await refused(credentialWith(t, vault, at(same)), TAKEN);
        const login = { auth: oauth(t, { mcp_server_url: same }) };
        await refused(credentialWith(t, vault, login), TAKEN);
      }
      const spelled = "https://Two.example.com:443/mcp/";
      assertHas((await credentialWith(t, vault, at(spelled))).auth, { mcp_server_url: spelled });
      await credentialWith(t, vault, at("https://one.example.com/other"));
      await credentialWith(t, vault, at("https://one.example.com:8443/mcp"));
      await credentialWith(t, other, at("https://one.example.com/mcp"));
      const named = () => ({ auth: variable(t, { secret_name: "GH_TOKEN" }) });
      const value = await credentialWith(t, vault, named());
      await refused(credentialWith(t, vault, named()), { ...TAKEN, says: /secret_name/ });
      await api.archive(first.id, { vault_id: vault.id });
      await api.delete(value.id, { vault_id: vault.id });
      await credentialWith(t, vault, at("https://one.example.com/mcp"));
      await credentialWith(t, vault, named());
    },
  ),

  scenario(
    "a vault has twenty active credentials at most",
    { verifies: ["credentials.limit"], rows: [102] },
    async (t) => {
      const vault = await newVault(t);
      const made = await Promise.all(many(20, () => credentialWith(t, vault)));
      await noCredentialWith(t, vault, {}, /20/);
      const id = made[0]?.id ?? "";
      await t.client.beta.vaults.credentials.archive(id, { vault_id: vault.id });
      await credentialWith(t, vault);
      await noCredentialWith(t, vault, {}, /20/);
    },
  ),

  scenario(
    "a credential is found in its own vault and workspace only",
    {
      verifies: [
        "credentials.retrieve.unknown",
        "credentials.retrieve.vault",
        "credentials.retrieve.workspace",
        "credentials.list.unknown",
      ],
      rows: [102],
      needs: ["other-workspace"],
    },
    async (t) => {
      const [vault, other] = [await newVault(t), await newVault(t)];
      const made = await credentialWith(t, vault);
      const own = t.client.beta.vaults.credentials;
      const stranger = t.clientWith({ apiKey: t.key("other-workspace") }).beta.vaults.credentials;
      for (const [api, id, vault_id] of [
        [own, "vcrd_of_nobody", vault.id],
        [own, made.id, other.id],
        [own, made.id, "vlt_of_nobody"],
        [stranger, made.id, vault.id],
      ] as const) {
        await refused(api.retrieve(id, { vault_id }), MISSING);
        await refused(api.update(id, { vault_id, display_name: "mine" }), MISSING);
        await refused(api.archive(id, { vault_id }), MISSING);
        await refused(api.delete(id, { vault_id }), MISSING);
      }
      const auth = { type: "static_bearer", token: "t", mcp_server_url: "https://a.com" } as const;
      for (const [api, vaultId] of [
        [own, "vlt_of_nobody"],
        [stranger, vault.id],
      ] as const) {
        await refused(api.list(vaultId), MISSING);
        await refused(api.create(vaultId, { auth }), MISSING);
      }
      assert.deepEqual(await own.retrieve(made.id, { vault_id: vault.id }), made);
    },
  ),

  scenario(
    "an archived credential is read and deleted, and nothing else",
    {
      verifies: [
        "credentials.archive.time",
        "credentials.archive.again",
        "credentials.archive.listed",
        "credentials.archive.final",
      ],
      rows: [102],
    },
    async (t) => {
      const vault = await newVault(t);
      const { credentials: api } = t.client.beta.vaults;
      const [made, active] = [await credentialWith(t, vault), await credentialWith(t, vault)];
      const place = { vault_id: vault.id };
      const archived = await api.archive(made.id, place);
      assertTime(archived.archived_at);
      assertHas(archived, { id: made.id, auth: made.auth, metadata: made.metadata });
      assert.deepEqual(await api.archive(made.id, place), archived);
      assert.deepEqual(await api.retrieve(made.id, place), archived);
      const listed = async (params: object) =>
        (await all(api.list(vault.id, params))).map(({ id }) => id);
      assert.deepEqual(await listed({}), [active.id]);
      assert.deepEqual(await listed({ include_archived: false }), [active.id]);
      assert.deepEqual(await listed({ include_archived: true }), [active.id, made.id]);
      await notUpdatedCredential(t, made, { display_name: "x" }, /archived/);
      const auth = { type: "static_bearer", token: newSecret(t) };
      await notUpdatedCredential(t, made, { auth }, /archived/);
      assertHas(await api.delete(made.id, place), { type: "vault_credential_deleted" });
    },
  ),

  scenario(
    "a deleted credential is gone",
    {
      verifies: ["credentials.delete", "credentials.delete.tombstone", "credentials.delete.gone"],
      rows: [102],
    },
    async (t) => {
      const vault = await newVault(t);
      const { credentials: api } = t.client.beta.vaults;
      const [gone, kept] = [await credentialWith(t, vault), await credentialWith(t, vault)];
      const path = `/v1/vaults/${vault.id}/credentials/${gone.id}`;
      const deleted = { id: gone.id, type: "vault_credential_deleted" };
      assert.deepEqual(accepted(await t.request("DELETE", path)), deleted);
      await refused(api.retrieve(gone.id, { vault_id: vault.id }), MISSING);
      await refused(api.delete(gone.id, { vault_id: vault.id }), MISSING);
      const left = await all(api.list(vault.id, { include_archived: true }));
      assert.deepEqual(left, [kept]);
    },
  ),

  scenario(
    "credentials are listed newest first, each once, at any page size",
    { verifies: ["credentials.list.paged", "credentials.list.order"], rows: [5, 102] },
    async (t) => {
      const vault = await newVault(t);
      const made = await Promise.all(many(8, () => credentialWith(t, vault)));
      const ids = made.map(({ id }) => id).sort();
      for (const limit of [1, 3, 7, 20]) {
        const listed = await all(t.client.beta.vaults.credentials.list(vault.id, { limit }));
        assert.deepEqual(listed.map(({ id }) => id).sort(), ids);
        const times = listed.map(({ created_at }) => created_at);
        assert.deepEqual(times, times.toSorted().reverse());
      }
    },
  ),
];
