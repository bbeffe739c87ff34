import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { many, pairs } from "../support/agents.ts";
import { assertHas, assertTime } from "../support/expect.ts";
import {
  bearer,
  credentialWith,
  fromNow,
  newVault,
  noCredentialWith,
  oauth,
  refresh,
  variable,
} from "../support/vaults.ts";

/** Making credentials; for what becomes of them see `credential-updates.ts` and `credential-lives.ts`. */
export const credentials: readonly Scenario[] = [
  scenario(
    "a static bearer token is made, and comes back without the token",
    {
      verifies: [
        "credentials.object",
        "credentials.object.times",
        "credentials.display-name",
        "credentials.metadata",
        "credentials.metadata-max",
        "credentials.bearer",
        "credentials.bearer.required",
        "credentials.retrieve",
      ],
      rows: [102],
    },
    async (t) => {
      const vault = await newVault(t);
      const { type, mcp_server_url, token } = bearer(t);
      const made = await credentialWith(t, vault, { auth: { type, mcp_server_url, token } });
      assert.ok(made.id.length > 0);
      assertTime(made.created_at);
      assertTime(made.updated_at);
      assertHas(made, { type: "vault_credential", vault_id: vault.id, metadata: {} });
      assertHas(made, { archived_at: null });
      assert.equal(made.display_name ?? null, null);
      assert.deepEqual(made.auth, { type, mcp_server_url });
      const { credentials: api } = t.client.beta.vaults;
      assert.deepEqual(await api.retrieve(made.id, { vault_id: vault.id }), made);
      const metadata = { ...pairs(15), ["k".repeat(64)]: "v".repeat(512) };
      const longest = { display_name: "n".repeat(255), metadata };
      assertHas(await credentialWith(t, vault, longest), longest);
      await noCredentialWith(t, vault, { display_name: "n".repeat(256) }, /display_name/);
      await noCredentialWith(t, vault, { metadata: pairs(17) }, /metadata/);
      for (const missing of ["token", "mcp_server_url"]) {
        const auth = bearer(t, { [missing]: undefined });
        await noCredentialWith(t, vault, { auth }, new RegExp(missing));
      }
      await noCredentialWith(t, vault, { auth: bearer(t, { token: "" }) }, /token/);
    },
  ),

  scenario(
    "a credential is of one of three types, and has no field beyond theirs",
    { verifies: ["credentials.auth", "credentials.unknown-field"], rows: [102] },
    async (t) => {
      const vault = await newVault(t);
      for (const auth of [bearer(t), oauth(t), variable(t)]) {
        assertHas(await credentialWith(t, vault, { auth }), { auth: { type: auth.type } });
        const surplus = { ...auth, surplus: true };
        await noCredentialWith(t, vault, { auth: surplus }, /surplus/);
      }
      await noCredentialWith(t, vault, { auth: undefined }, /auth/);
      await noCredentialWith(t, vault, { auth: null }, /auth/);
      await noCredentialWith(t, vault, { auth: bearer(t, { type: "basic" }) }, /auth/);
      await noCredentialWith(t, vault, { auth: bearer(t, { type: undefined }) }, /auth/);
      await noCredentialWith(t, vault, { secret: true }, /secret/);
    },
  ),

  scenario(
    "an OAuth token is made with and without an expiry",
    {
      verifies: [
        "credentials.oauth",
        "credentials.oauth.required",
        "credentials.oauth.expiry",
        "credentials.oauth.expiry-unknown",
        "credentials.oauth.refresh-null",
      ],
      rows: [102],
    },
    async (t) => {
      const vault = await newVault(t);
      const authOf = async (fields: object) => {
        const { auth } = await credentialWith(t, vault, { auth: oauth(t, fields) });
        assert.ok(auth.type === "mcp_oauth");
        return auth;
      };
      for (const fields of [{}, { expires_at: null, refresh: null }]) {
        const auth = await authOf(fields);
        assert.equal(auth.expires_at ?? null, null);
        assert.equal(auth.refresh ?? null, null);
        assert.equal(typeof auth.mcp_server_url, "string");
      }
      const expires_at = fromNow(3600);
      const { expires_at: stored } = await authOf({ expires_at });
      assertTime(stored);
      assert.equal(Date.parse(stored), Date.parse(expires_at));
      const zoned = fromNow(3600).replace("Z", "-02:00");
      assert.equal(
        Date.parse((await authOf({ expires_at: zoned })).expires_at ?? ""),
        Date.parse(zoned),
      );
      for (const bad of [fromNow(-60), "tomorrow", "2030-01-01", 1_900_000_000]) {
        await noCredentialWith(t, vault, { auth: oauth(t, { expires_at: bad }) }, /expires_at/);
      }
      for (const missing of ["access_token", "mcp_server_url"]) {
        const auth = oauth(t, { [missing]: undefined });
        await noCredentialWith(t, vault, { auth }, new RegExp(missing));
      }
    },
  ),

  scenario(
    "how an OAuth token is refreshed comes back without the secrets of that",
    {
      verifies: [
        "credentials.oauth.refresh",
        "credentials.oauth.refresh-required",
        "credentials.oauth.refresh-auth",
      ],
      rows: [102],
    },
    async (t) => {
      const vault = await newVault(t);
      const made = async (fields: object) => {
        const auth = oauth(t, { refresh: refresh(t, fields) });
        const credential = await credentialWith(t, vault, { auth });
        assert.ok(credential.auth.type === "mcp_oauth");
        return credential.auth.refresh;
      };
      const full = { resource: "https://mcp.example.com", scope: "read write" };
      const token_endpoint = "https://auth.example.com/token";
      const shown = { client_id: "client-1", token_endpoint };
      const basic = { token_endpoint_auth: { type: "client_secret_basic" } };
      assert.deepEqual(await made(full), { ...shown, ...full, ...basic });
      const plain = await made({ resource: null, scope: null });
      assertHas(plain, { ...shown, ...basic });
      assert.deepEqual([plain?.resource ?? null, plain?.scope ?? null], [null, null]);
      for (const token_endpoint_auth of [
        { type: "none" },
        { type: "client_secret_post", client_secret: "s" },
      ]) {
        const { type } = token_endpoint_auth;
        const stored = await made({ token_endpoint_auth });
        assert.deepEqual(stored?.token_endpoint_auth, { type });
      }
      const none = async (fields: object, says: RegExp) => {
        const auth = oauth(t, { refresh: refresh(t, fields) });
        await noCredentialWith(t, vault, { auth }, says);
      };
      for (const field of ["client_id", "refresh_token", "token_endpoint", "token_endpoint_auth"]) {
        await none({ [field]: undefined }, new RegExp(field));
      }
      const says = /token_endpoint_auth/;
      await none({ token_endpoint_auth: { type: "client_secret_basic" } }, says);
      await none({ token_endpoint_auth: { type: "none", client_secret: "s" } }, says);
      await none({ token_endpoint_auth: { type: "private_key_jwt" } }, says);
    },
  ),

  scenario(
    "an environment variable is made, and comes back without its value",
    {
      verifies: [
        "credentials.variable",
        "credentials.variable.required",
        "credentials.variable.name",
        "credentials.networking",
      ],
      rows: [102],
    },
    async (t) => {
      const vault = await newVault(t);
      const injection_location = { header: true, body: true };
      for (const networking of [
        { type: "unrestricted" },
        { type: "limited", allowed_hosts: ["api.example.com", "*.example.org"] },
      ]) {
        const { secret_value, ...auth } = variable(t, { networking });
        const made = await credentialWith(t, vault, { auth: { ...auth, secret_value } });
        assert.deepEqual(made.auth, { ...auth, injection_location });
      }
      const none = (fields: object, says: RegExp) =>
        noCredentialWith(t, vault, { auth: variable(t, fields) }, says);
      for (const field of ["secret_name", "secret_value", "networking"]) {
        await none({ [field]: undefined }, new RegExp(field));
      }
      for (const secret_name of ["", "1ST", "A-B", "A=B", "A B", "$A"]) {
        await none({ secret_name }, /secret_name/);
      }
      await none({ secret_value: "" }, /secret_value/);
      for (const networking of [
        null,
        { type: "none" },
        { type: "limited" },
        { type: "unrestricted", allowed_hosts: ["example.com"] },
      ]) {
        await none({ networking }, /networking/);
      }
    },
  ),

  scenario(
    "an allowed host is a name, an IPv4 address or a wildcard, sixteen at most",
    {
      verifies: ["credentials.networking.hosts", "credentials.networking.hosts-max"],
      rows: [102],
    },
    async (t) => {
      const vault = await newVault(t);
      const hosts = (...allowed_hosts: string[]) => ({
        auth: variable(t, { networking: { type: "limited", allowed_hosts } }),
      });
      const good = ["example.com", "a-b.example.com", "192.0.2.1", "*.example.com", "localhost"];
      const made = await credentialWith(t, vault, hosts(...good));
      assertHas(made.auth, { networking: { type: "limited", allowed_hosts: good } });
      for (const bad of [
        ...["", "*", "*.", "a.*.com", "*example.com", "https://example.com", "example.com:443"],
        ...["example.com/path", "::1", "[2001:db8::1]", "*.192.0.2.1", "exa mple.com"],
      ]) {
        await noCredentialWith(t, vault, hosts("example.com", bad), /allowed_hosts/);
      }
      const numbered = (count: number) => many(count, (index) => `h${index}.example.com`);
      await credentialWith(t, vault, hosts(...numbered(16)));
      await noCredentialWith(t, vault, hosts(...numbered(17)), /allowed_hosts/);
    },
  ),

  scenario(
    "a variable's secret goes everywhere, or where it is said to",
    {
      verifies: [
        "credentials.injection.default",
        "credentials.injection.given",
        "credentials.injection.none",
        "credentials.injection.null",
      ],
      rows: [102],
    },
    async (t) => {
      const vault = await newVault(t);
      const locationsOf = async (injection_location?: object) => {
        const { auth } = await credentialWith(t, vault, {
          auth: variable(t, { injection_location }),
        });
        assert.ok(auth.type === "environment_variable");
        return auth.injection_location;
      };
      assert.deepEqual(await locationsOf(), { header: true, body: true });
      assert.deepEqual(await locationsOf({ header: true }), { header: true, body: false });
      assert.deepEqual(await locationsOf({ body: true }), { header: false, body: true });
      const both = { header: true, body: true };
      assert.deepEqual(await locationsOf(both), both);
      for (const bad of [
        ...[null, {}, { header: false }, { header: false, body: false }],
        ...[{ header: null }, { header: true, body: null }, { query: true }],
      ]) {
        const auth = variable(t, { injection_location: bad });
        await noCredentialWith(t, vault, { auth }, /injection_location/);
      }
    },
  ),

  scenario(
    "a secret goes to https, or to this machine",
    { verifies: ["credentials.url"], rows: [102] },
    async (t) => {
      const vault = await newVault(t);
      const good = ["https://example.com/mcp?tenant=a", "https://192.0.2.1:8443"];
      for (const mcp_server_url of [...good, "http://localhost:3000", "http://127.0.0.1:3000/"]) {
        const made = await credentialWith(t, vault, { auth: bearer(t, { mcp_server_url }) });
        assertHas(made.auth, { mcp_server_url });
      }
      for (const bad of [
        ...["", "example.com", "http://example.com", "ftp://example.com", "https://"],
        ...["http://localhost.example.com", "https://user:password@example.com"],
      ]) {
        const auth = bearer(t, { mcp_server_url: bad });
        await noCredentialWith(t, vault, { auth }, /mcp_server_url/);
        const refreshed = oauth(t, { refresh: refresh(t, { token_endpoint: bad }) });
        await noCredentialWith(t, vault, { auth: refreshed }, /token_endpoint/);
      }
    },
  ),
];
