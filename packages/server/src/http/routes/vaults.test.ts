import { expect, test } from "vitest";
import { openWorld, type World } from "../world.testsuite.ts";

const bearer = (host = "mcp.example.com", token = "token-1") => ({
  auth: { type: "static_bearer", token, mcp_server_url: `https://${host}` },
});

async function openVault(world: World) {
  const { body: vault } = await world.request("POST", "/v1/vaults", { display_name: "team" });
  const path = `/v1/vaults/${vault.id}`;
  return { vault, path, credentials: `${path}/credentials` };
}

test("a vault is made, read, changed, listed and deleted", async () => {
  const world = await openWorld();
  const { vault, path } = await openVault(world);
  expect(vault).toEqual({
    id: expect.stringMatching(/^vlt_/),
    type: "vault",
    display_name: "team",
    metadata: {},
    created_at: expect.any(String),
    updated_at: expect.any(String),
    archived_at: null,
  });
  expect((await world.request("GET", path)).body).toEqual(vault);
  const set = { display_name: null, metadata: { a: "1", b: "2" } };
  expect((await world.request("POST", path, set)).body).toMatchObject({
    display_name: "team",
    metadata: { a: "1", b: "2" },
  });
  const patch = { display_name: "squad", metadata: { a: null, b: "" } };
  const changed = await world.request("POST", path, patch);
  expect(changed.body).toMatchObject({ display_name: "squad", metadata: { b: "" } });
  expect((await world.request("POST", path, {})).body).toEqual(changed.body);
  expect((await world.request("GET", "/v1/vaults")).body.data).toEqual([changed.body]);
  const gone = await world.request("DELETE", path);
  expect(gone.body).toEqual({ id: vault.id, type: "vault_deleted" });
  expect((await world.request("GET", path)).status).toBe(404);
  expect((await world.request("DELETE", path)).status).toBe(404);
});

test.each([
  [{}, "display_name"],
  [{ display_name: "" }, "display_name"],
  [{ display_name: "x".repeat(256) }, "display_name"],
  [{ display_name: null }, "display_name"],
  [{ display_name: "a", metadata: { k: null } }, "metadata.k"],
  [{ display_name: "a", name: "b" }, "name: unknown field"],
])("a vault of %j is refused", async (params, sentence) => {
  const world = await openWorld();
  const { status, body } = await world.request("POST", "/v1/vaults", params);
  expect([status, body.error.message]).toEqual([400, expect.stringContaining(sentence)]);
});

test("an archived vault keeps its records, takes no change and is listed when asked for", async () => {
  const world = await openWorld();
  const { path, credentials } = await openVault(world);
  const { body: credential } = await world.request("POST", credentials, bearer());
  const { body: archived } = await world.request("POST", `${path}/archive`);
  expect(archived.archived_at).toEqual(expect.any(String));
  expect((await world.request("POST", `${path}/archive`)).body).toEqual(archived);
  expect((await world.request("GET", "/v1/vaults")).body.data).toEqual([]);
  const all = await world.request("GET", "/v1/vaults?include_archived=true");
  expect(all.body.data).toEqual([archived]);
  const kept = await world.request("GET", `${credentials}/${credential.id}`);
  expect(kept.body).toEqual({ ...credential, archived_at: archived.archived_at });
  for (const [at, params] of [
    [path, { display_name: "x" }],
    [credentials, bearer("other.example.com")],
    [`${credentials}/${credential.id}`, { display_name: "x" }],
  ] as const) {
    const { status, body } = await world.request("POST", at, params);
    expect([at, status, body.error.message]).toEqual([
      at,
      400,
      expect.stringContaining("archived"),
    ]);
  }
  expect((await world.request("DELETE", `${credentials}/${credential.id}`)).status).toBe(200);
});

test("a credential is made, read, changed, listed and deleted", async () => {
  const world = await openWorld();
  const { vault, credentials } = await openVault(world);
  const { body: made } = await world.request("POST", credentials, {
    ...bearer(),
    display_name: "ci",
    metadata: { a: "1" },
  });
  expect(made).toEqual({
    id: expect.stringMatching(/^vcrd_/),
    type: "vault_credential",
    vault_id: vault.id,
    display_name: "ci",
    metadata: { a: "1" },
    auth: { type: "static_bearer", mcp_server_url: "https://mcp.example.com" },
    created_at: expect.any(String),
    updated_at: expect.any(String),
    archived_at: null,
  });
  const path = `${credentials}/${made.id}`;
  expect((await world.request("GET", path)).body).toEqual(made);
  expect((await world.request("POST", path, { display_name: null })).body).toEqual(made);
  const patch = { display_name: "cd", metadata: { a: null, b: "2" } };
  const { body: changed } = await world.request("POST", path, patch);
  expect(changed).toMatchObject({
    display_name: "cd",
    metadata: { b: "2" },
    auth: made["auth" as "agent"],
  });
  expect((await world.request("GET", credentials)).body.data).toEqual([changed]);
  const gone = await world.request("DELETE", path);
  expect(gone.body).toEqual({ id: made.id, type: "vault_credential_deleted" });
  expect((await world.request("GET", path)).status).toBe(404);
  expect((await world.request("POST", credentials, bearer())).status).toBe(200);
});

test("new secrets replace the old ones, of which the others stay", async () => {
  const world = await openWorld();
  const { credentials } = await openVault(world);
  const refresh = {
    ...{ client_id: "c", refresh_token: "refresh-1", token_endpoint: "https://a.example.com" },
    token_endpoint_auth: { type: "client_secret_basic", client_secret: "client-1" },
  };
  const { body: made } = await world.request("POST", credentials, {
    auth: {
      ...{ type: "mcp_oauth", access_token: "access-1", mcp_server_url: "https://m.example.com" },
      refresh,
    },
  });
  const secrets = async () => {
    const stored = await world.store.write((tx) =>
      tx.credentials.findSecrets(world.workspaceId, made.id),
    );
    const opened = Object.entries(stored).map(([name, { sealed }]) => {
      const place = `${world.workspaceId}/${made.id}/${name}`;
      return [name, world.secretBox.open(sealed, place).reveal()];
    });
    return Object.fromEntries(opened);
  };
  const all = { access_token: "access-1", refresh_token: "refresh-1", client_secret: "client-1" };
  expect(await secrets()).toEqual(all);
  const update = { auth: { type: "mcp_oauth", access_token: "access-2" } };
  await world.request("POST", `${credentials}/${made.id}`, update);
  expect(await secrets()).toEqual({ ...all, access_token: "access-2" });
  await world.request("POST", `${credentials}/${made.id}`, { display_name: "x" });
  expect(await secrets()).toEqual({ ...all, access_token: "access-2" });
});

test("a vault has one active credential for a server or a variable, and the conflict is final", async () => {
  const world = await openWorld();
  const { credentials } = await openVault(world);
  const other = await openVault(world);
  const { body: first } = await world.request("POST", credentials, bearer());
  const again = await world.request("POST", credentials, bearer("MCP.example.com:443", "token-2"));
  expect([again.status, again.headers.get("x-should-retry")]).toEqual([409, "false"]);
  expect(again.body.error.message).toContain("auth.mcp_server_url");
  expect((await world.request("POST", other.credentials, bearer())).status).toBe(200);
  await world.request("POST", `${credentials}/${first.id}/archive`);
  expect((await world.request("POST", credentials, bearer())).status).toBe(200);
});

test("a vault has at most 20 active credentials", async () => {
  const world = await openWorld();
  const { credentials } = await openVault(world);
  for (let index = 0; index < 20; index += 1) {
    const made = await world.request("POST", credentials, bearer(`h${index}.example.com`));
    expect(made.status).toBe(200);
  }
  const more = () => world.request("POST", credentials, bearer("more.example.com"));
  const refused = await more();
  expect([refused.status, refused.body.error.message]).toEqual([
    400,
    expect.stringContaining("20 credentials"),
  ]);
  const [newest] = (await world.request("GET", credentials)).body.data;
  await world.request("POST", `${credentials}/${newest?.id}/archive`);
  expect((await more()).status).toBe(200);
  expect((await world.request("GET", credentials)).body.data).toHaveLength(20);
  const all = await world.request("GET", `${credentials}?include_archived=true&limit=7`);
  expect([all.body.data.length, all.body.next_page]).toEqual([7, expect.any(String)]);
});

test("nothing of another workspace's vaults is found, nor a credential in another vault", async () => {
  const world = await openWorld();
  const { path, credentials } = await openVault(world);
  const other = await openVault(world);
  const { body: credential } = await world.request("POST", credentials, bearer());
  const stranger = await world.addKey("admin");
  const asStranger = { authorization: `Bearer ${stranger.key}` };
  const paths = [
    ["GET", path],
    ["POST", path],
    ["POST", `${path}/archive`],
    ["DELETE", path],
    ["GET", credentials],
    ["POST", credentials, bearer("other.example.com")],
    ["GET", `${credentials}/${credential.id}`],
    ["POST", `${credentials}/${credential.id}`],
    ["POST", `${credentials}/${credential.id}/archive`],
    ["DELETE", `${credentials}/${credential.id}`],
  ] as const;
  for (const [method, at, params] of paths) {
    const { status } = await world.request(method, at, params, asStranger);
    expect([method, at, status]).toEqual([method, at, 404]);
  }
  const elsewhere = `${other.credentials}/${credential.id}`;
  expect((await world.request("GET", elsewhere)).status).toBe(404);
  expect((await world.request("DELETE", elsewhere)).status).toBe(404);
  expect((await world.request("GET", `${credentials}/${credential.id}`)).body).toEqual(credential);
});

test("a reference to a secret is taken where hands can follow it, and never as a secret", async () => {
  const world = await openWorld({ secretManagers: ["files"] });
  const { credentials } = await openVault(world);
  const bearer = (token: string) => ({
    auth: { type: "static_bearer", token, mcp_server_url: "https://m.example.com" },
  });
  const post = (body: object) => world.request("POST", credentials, body);
  for (const [token, reason] of [
    ["drover-secrets://command/a", "auth.token: this server has no manager of secrets"],
    ["drover-secrets://files/../a", "auth.token: needs a name"],
    ["drover-secrets://nobody/a", "auth.token: names a manager"],
  ] as const) {
    const { status, body } = await post(bearer(token));
    expect([status, body.error.message]).toEqual([400, expect.stringContaining(reason)]);
  }
  const oauth = {
    ...{ type: "mcp_oauth", access_token: "drover-secrets://files/a" },
    mcp_server_url: "https://o.example.com",
  };
  const refused = await post({ auth: oauth });
  expect([refused.status, refused.body.error.message]).toEqual([
    400,
    expect.stringContaining("auth.access_token"),
  ]);
  const made = await post(bearer("drover-secrets://files/a"));
  expect(made.status).toBe(200);
  const update = { auth: { type: "static_bearer", token: "drover-secrets://command/a" } };
  const changed = await world.request("POST", `${credentials}/${made.body.id}`, update);
  expect(changed.status).toBe(400);
});
