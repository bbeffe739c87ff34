import { expect, test } from "vitest";
import { openWorld } from "../world.testsuite.ts";

async function setUp() {
  const world = await openWorld();
  const vault = await world.request("POST", "/v1/vaults", { display_name: "team" });
  const credentials = `/v1/vaults/${vault.body.id}/credentials`;
  const create = async (auth: object) =>
    (await world.request("POST", credentials, { auth })).body.id;
  const variable = await create({
    ...{ type: "environment_variable", secret_name: "KEY", secret_value: "canary" },
    networking: { type: "unrestricted" },
  });
  const binding = (id: string) => `/v1/drover/vaults/${vault.body.id}/credentials/${id}/binding`;
  return { world, vault: vault.body.id, credentials, create, variable, binding };
}

test("a variable is bound to methods and paths, and freed again", async () => {
  const { world, vault, variable, binding } = await setUp();
  const place = { type: "credential_binding", credential_id: variable, vault_id: vault };
  const free = { ...place, methods: null, paths: null };
  expect((await world.request("GET", binding(variable))).body).toEqual(free);
  const bound = { methods: ["GET", "POST"], paths: ["/v1/items", "/v2/*"] };
  expect((await world.request("POST", binding(variable), bound)).body).toEqual({
    ...place,
    ...bound,
  });
  expect((await world.request("GET", binding(variable))).body).toEqual({ ...place, ...bound });
  const half = { methods: ["GET"] };
  expect((await world.request("POST", binding(variable), half)).body).toEqual({
    ...free,
    ...half,
  });
  expect((await world.request("POST", binding(variable), { methods: null })).body).toEqual(free);
});

test.each([
  [{ methods: ["get"] }, "methods"],
  [{ methods: [] }, "methods"],
  [{ methods: ["GET /"] }, "methods"],
  [{ paths: ["v1"] }, "paths"],
  [{ paths: ["/a?b"] }, "paths"],
  [{ paths: ["/*/b"] }, "paths"],
  [{ paths: ["/a*"] }, "paths"],
  [{ path: ["/a"] }, "path"],
])("%j is refused by name", async (params, field) => {
  const { world, variable, binding } = await setUp();
  const { status, body } = await world.request("POST", binding(variable), params);
  expect([status, body.error.message]).toEqual([400, expect.stringContaining(field)]);
});

test("what is no variable is bound to nothing, and what is not there is not found", async () => {
  const { world, create, binding } = await setUp();
  const bearer = await create({
    ...{ type: "static_bearer", token: "canary", mcp_server_url: "https://m.example.com" },
  });
  const refused = await world.request("POST", binding(bearer), { methods: ["GET"] });
  expect([refused.status, refused.body.error.message]).toEqual([
    400,
    expect.stringContaining("static_bearer"),
  ]);
  expect((await world.request("GET", binding("vcrd_0"))).status).toBe(404);
});

test("a validation is on record with the key that asked for it, and never with the secret", async () => {
  const { world, vault, credentials, create } = await setUp();
  const id = await create({
    ...{ type: "mcp_oauth", access_token: "canary", mcp_server_url: "https://m.example.com/x" },
  });
  expect((await world.request("POST", `${credentials}/${id}/mcp_oauth_validate`)).status).toBe(200);
  const list = (query = "") => world.request("GET", `/v1/drover/credential_uses${query}`);
  const { body } = await list();
  expect(body.data).toEqual([
    {
      ...{ id: expect.stringMatching(/^vuse_/), type: "credential_use", session_id: null },
      ...{ api_key_id: expect.stringMatching(/^apikey_/), vault_id: vault, credential_id: id },
      ...{ host: "m.example.com", purpose: "validation", verdict: "released", reason: null },
      ...{ releases: 1, requests: 0 },
      ...{ first_at: expect.any(String), last_at: expect.any(String) },
    },
  ]);
  expect((await list(`?credential_id=${id}`)).body.data).toHaveLength(1);
  expect((await list("?credential_id=vcrd_0")).body.data).toEqual([]);
  expect((await list("?session_id=sesn_0")).body.data).toEqual([]);
  expect((await list("?verdict=released")).status).toBe(400);
});

test("a session and its fork are of the key that asked for each", async () => {
  const { world } = await setUp();
  const { body: keys } = await world.request("GET", "/v1/drover/api_keys");
  const { body: session } = await world.request("POST", "/v1/sessions", await world.prepare());
  const fork = await world.request("POST", `/v1/drover/sessions/${session.id}/fork`, {});
  const makers = await Promise.all(
    [session.id, fork.body.id].map(async (sessionId) => {
      const { workspaceId } = world;
      return (await world.store.sessions.find({ workspaceId, sessionId }))?.created_by;
    }),
  );
  expect(makers).toEqual([keys.data[0]?.id, keys.data[0]?.id]);
});
