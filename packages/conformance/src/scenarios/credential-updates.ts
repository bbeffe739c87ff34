import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { assertHas } from "../support/expect.ts";
import {
  bearer,
  credentialWith,
  fromNow,
  newSecret,
  newVault,
  notUpdatedCredential,
  oauth,
  refresh,
  updatedCredential,
  variable,
} from "../support/vaults.ts";

const IMMUTABLE_URL = { mcp_server_url: "https://other.example.com" };

/** What an update of a credential changes, keeps and refuses. */
export const credentialUpdates: readonly Scenario[] = [
  scenario(
    "an update keeps what it leaves out or sends as null",
    {
      verifies: [
        "credentials.update.keep",
        "credentials.update.secret",
        "credentials.update.display-name",
        "credentials.update.metadata",
      ],
      rows: [102],
    },
    async (t) => {
      const vault = await newVault(t);
      const named = { display_name: "n", metadata: { a: "1", b: "2" } };
      for (const [auth, nulls] of [
        [bearer(t), { token: null }],
        [oauth(t, { expires_at: fromNow(3600) }), { access_token: null, refresh: null }],
        [variable(t), { secret_value: null, networking: null }],
      ] as const) {
        const made = await credentialWith(t, vault, { auth, ...named });
        const { type } = auth;
        assert.deepEqual(await updatedCredential(t, made, {}), made);
        const silent = { display_name: null, metadata: null, auth: { type, ...nulls } };
        assert.deepEqual(await updatedCredential(t, made, silent), made);
        const [secret = ""] = Object.keys(nulls);
        const replaced = await updatedCredential(t, made, {
          auth: { type, [secret]: newSecret(t) },
        });
        assert.deepEqual({ ...replaced, updated_at: made.updated_at }, made);
        assert.ok(replaced.updated_at > made.updated_at);
        const patch = { display_name: "m", metadata: { a: null, c: "3" } };
        const patched = await updatedCredential(t, made, patch);
        assertHas(patched, { display_name: "m", auth: made.auth });
        assert.deepEqual(patched.metadata, { b: "2", c: "3" });
        await notUpdatedCredential(t, made, { display_name: "" }, /display_name/);
        await notUpdatedCredential(t, made, { display_name: "x".repeat(256) }, /display_name/);
      }
    },
  ),

  scenario(
    "the type of a credential and what it is for never change",
    {
      verifies: [
        "credentials.update.type",
        "credentials.update.url",
        "credentials.update.secret-name",
        "credentials.update.client",
        "credentials.update.whole",
      ],
      rows: [102],
    },
    async (t) => {
      const vault = await newVault(t);
      const { credentials: api } = t.client.beta.vaults;
      const [token, login, value] = [
        await credentialWith(t, vault, { auth: bearer(t) }),
        await credentialWith(t, vault, { auth: oauth(t, { refresh: refresh(t) }) }),
        await credentialWith(t, vault, { auth: variable(t) }),
      ];
      for (const made of [token, login, value]) {
        for (const type of ["static_bearer", "mcp_oauth", "environment_variable"]) {
          if (type === made.auth.type) await updatedCredential(t, made, { auth: { type } });
          else await notUpdatedCredential(t, made, { auth: { type } }, /type/);
        }
        await notUpdatedCredential(t, made, { auth: { type: "basic" } }, /auth/);
        await notUpdatedCredential(t, made, { auth: {} }, /auth/);
      }
      const never = async (made: typeof token, fields: object, says: RegExp) => {
        const auth = { type: made.auth.type, ...fields };
        await notUpdatedCredential(t, made, { auth, display_name: "not this" }, says);
        assert.deepEqual(await api.retrieve(made.id, { vault_id: vault.id }), made);
      };
      await never(token, { token: newSecret(t), ...IMMUTABLE_URL }, /mcp_server_url/);
      await never(login, IMMUTABLE_URL, /mcp_server_url/);
      await never(login, { refresh: { client_id: "other" } }, /client_id/);
      await never(
        login,
        { refresh: { token_endpoint: "https://a.example.com" } },
        /token_endpoint/,
      );
      await never(value, { secret_name: "OTHER" }, /secret_name/);
    },
  ),

  scenario(
    "a new OAuth token keeps the old expiry unless it comes with one",
    {
      verifies: ["credentials.update.expiry", "credentials.update.expiry-past"],
      rows: [102],
    },
    async (t) => {
      const vault = await newVault(t);
      const made = await credentialWith(t, vault, { auth: oauth(t, { expires_at: fromNow(600) }) });
      const update = (fields: object) => ({
        auth: { type: "mcp_oauth", access_token: newSecret(t), ...fields },
      });
      const kept = await updatedCredential(t, made, update({}));
      assert.deepEqual(kept.auth, made.auth);
      const expires_at = fromNow(7200);
      const { auth } = await updatedCredential(t, made, update({ expires_at }));
      assert.ok(auth.type === "mcp_oauth");
      assert.equal(Date.parse(auth.expires_at ?? ""), Date.parse(expires_at));
      await notUpdatedCredential(t, made, update({ expires_at: fromNow(-1) }), /expires_at/);
      await notUpdatedCredential(t, made, update({ expires_at: "soon" }), /expires_at/);
    },
  ),

  scenario(
    "a refresh takes new secrets and a new scope, and stays what it is",
    {
      verifies: [
        "credentials.update.scope",
        "credentials.update.client-secret",
        "credentials.update.client-secret-none",
        "credentials.update.refresh-none",
      ],
      rows: [102],
    },
    async (t) => {
      const vault = await newVault(t);
      const made = (fields: object) =>
        credentialWith(t, vault, { auth: oauth(t, { refresh: refresh(t, fields) }) });
      const update = (fields: object) => ({ auth: { type: "mcp_oauth", refresh: fields } });
      const basic = await made({ scope: "a" });
      const scopeAfter = async (scope: string | null) => {
        const { auth } = await updatedCredential(t, basic, update({ scope }));
        return auth.type === "mcp_oauth" ? (auth.refresh?.scope ?? null) : undefined;
      };
      assert.equal(await scopeAfter("b c"), "b c");
      assert.equal(await scopeAfter(null), "b c");
      assert.equal(await scopeAfter(""), null);
      const typeAfter = async (credential: typeof basic, type: string) => {
        const token_endpoint_auth = { type, client_secret: newSecret(t) };
        const { auth } = await updatedCredential(t, credential, update({ token_endpoint_auth }));
        return auth.type === "mcp_oauth" ? auth.refresh?.token_endpoint_auth.type : undefined;
      };
      assert.equal(await typeAfter(basic, "client_secret_basic"), "client_secret_basic");
      assert.equal(await typeAfter(basic, "client_secret_post"), "client_secret_basic");
      const secret = { type: "client_secret_basic", client_secret: newSecret(t) };
      const none = await made({ token_endpoint_auth: { type: "none" } });
      await notUpdatedCredential(
        t,
        none,
        update({ token_endpoint_auth: secret }),
        /token_endpoint_auth/,
      );
      const rotated = update({ refresh_token: newSecret(t) });
      assertHas(await updatedCredential(t, none, rotated), { auth: none.auth });
      const without = await credentialWith(t, vault, { auth: oauth(t) });
      await notUpdatedCredential(t, without, rotated, /refresh/);
    },
  ),

  scenario(
    "a variable's networking is replaced, its locations are merged",
    {
      verifies: [
        "credentials.update.networking",
        "credentials.update.injection",
        "credentials.update.injection-none",
        "credentials.update.injection-null",
      ],
      rows: [102],
    },
    async (t) => {
      const vault = await newVault(t);
      const limited = (...allowed_hosts: string[]) => ({ type: "limited", allowed_hosts });
      const auth = variable(t, {
        networking: limited("a.com"),
        injection_location: { header: true },
      });
      const made = await credentialWith(t, vault, { auth });
      const update = (fields: object) => ({ auth: { type: "environment_variable", ...fields } });
      const after = async (fields: object) =>
        (await updatedCredential(t, made, update(fields))).auth;
      assertHas(await after({ networking: limited("b.com") }), { networking: limited("b.com") });
      const unrestricted = { type: "unrestricted" };
      assertHas(await after({ networking: unrestricted }), { networking: unrestricted });
      const locations = async (injection_location: object) => {
        const stored = await after({ injection_location });
        return stored.type === "environment_variable" ? stored.injection_location : undefined;
      };
      assert.deepEqual(await locations({}), { header: true, body: false });
      assert.deepEqual(await locations({ body: true }), { header: true, body: true });
      assert.deepEqual(await locations({ header: false }), { header: false, body: true });
      for (const bad of [{ body: false }, { header: false, body: false }, null, { body: null }]) {
        const refused = update({ injection_location: bad });
        await notUpdatedCredential(t, made, refused, /injection_location/);
      }
      assert.deepEqual(await locations({}), { header: false, body: true });
    },
  ),
];
