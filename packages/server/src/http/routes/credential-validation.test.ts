import Anthropic from "@anthropic-ai/sdk";
import { type McpServer, type McpServerOptions, startMcpServer } from "@drover/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { secretBinding } from "../../core/vaults/secret-binding.ts";
import { egressTo, openWorld } from "../world.testsuite.ts";

const GOOD = "good-access-canary";
const OLD = "old-access-canary";
const REFRESH = "first-refresh-canary";

type Auth = Parameters<Anthropic["beta"]["vaults"]["credentials"]["create"]>[1]["auth"];
type OAuth = Extract<Auth, { type: "mcp_oauth" }>;
type TokenAuth = NonNullable<OAuth["refresh"]>["token_endpoint_auth"];

async function setUp(options: McpServerOptions = {}, allow: readonly string[] = ["127.0.0.1"]) {
  const world = await openWorld({ egress: egressTo(allow) });
  const mcp = await startMcpServer({ accessTokens: [GOOD], ...options });
  onTestFinished(async () => await mcp[Symbol.asyncDispose]());
  const { url } = await world.listen();
  const client = new Anthropic({ apiKey: world.key, baseURL: url, maxRetries: 0 });
  const { vaults } = client.beta;
  const vault = await vaults.create({ display_name: "team" });
  const newCredential = (auth: Partial<OAuth> = {}) =>
    vaults.credentials.create(vault.id, {
      auth: { type: "mcp_oauth", access_token: OLD, mcp_server_url: mcp.url, ...auth },
    });
  const validate = ({ id }: { id: string }) =>
    vaults.credentials.mcpOAuthValidate(id, { vault_id: vault.id });
  const secretsOf = async ({ id }: { id: string }) => {
    const { workspaceId, store, secretBox } = world;
    const stored = await store.write((tx) => tx.credentials.findSecrets(workspaceId, id));
    const place = { workspace_id: workspaceId, id };
    const opened = Object.entries(stored).map(([name, { sealed }]) => [
      name,
      secretBox.open(sealed, secretBinding(place, name)).reveal(),
    ]);
    return opened.length === 0 ? undefined : Object.fromEntries(opened);
  };
  return { world, mcp, vaults, vault, newCredential, validate, secretsOf };
}

function refreshAt(mcp: McpServer, auth: TokenAuth = { type: "none" }, fields: object = {}) {
  return {
    client_id: "client 1",
    refresh_token: REFRESH,
    token_endpoint: mcp.tokenEndpoint,
    token_endpoint_auth: auth,
    ...fields,
  };
}

const rpcOf = (mcp: McpServer) =>
  mcp.seen.map(({ path, method, body }) => {
    if (path === "/token") return "token";
    return method === "POST" ? JSON.parse(body).method : method;
  });

describe("a token that its server takes", () => {
  test.each([false, true])("is valid (as a stream: %s)", async (streams) => {
    const { mcp, newCredential, validate, vault } = await setUp({ streams });
    const made = await newCredential({ access_token: GOOD });
    expect(await validate(made)).toEqual({
      type: "vault_credential_validation",
      credential_id: made.id,
      vault_id: vault.id,
      validated_at: expect.stringMatching(/^\d{4}-.*Z$/),
      has_refresh_token: false,
      status: "valid",
      mcp_probe: null,
      refresh: null,
    });
    const all = ["initialize", "notifications/initialized", "tools/list", "DELETE"];
    expect(rpcOf(mcp)).toEqual(all);
  });

  test("is not valid if the server looks at it only when tools are listed, and refuses", async () => {
    const { mcp, newCredential, validate } = await setUp();
    mcp.override = ({ body }, response) => {
      if (!body.includes("tools/list")) return false;
      response.writeHead(401, { "content-type": "text/plain" }).end(`no ${GOOD}`);
      return true;
    };
    expect(await validate(await newCredential({ access_token: GOOD }))).toMatchObject({
      status: "invalid",
      mcp_probe: {
        method: "tools/list",
        http_response: {
          status_code: 401,
          content_type: "text/plain",
          body: "no [redacted]",
          body_truncated: false,
        },
      },
      refresh: { status: "no_refresh_token", http_response: null },
    });
  });
});

describe("a token that its server refuses", () => {
  test("is invalid without a refresh token", async () => {
    const { newCredential, validate } = await setUp();
    const validation = await validate(await newCredential());
    expect(validation).toMatchObject({
      status: "invalid",
      has_refresh_token: false,
      mcp_probe: { method: "initialize", http_response: { status_code: 401 } },
      refresh: { status: "no_refresh_token", http_response: null },
    });
    expect(JSON.stringify(validation)).not.toContain("canary");
  });

  test("is invalid and not refreshed where it is forbidden", async () => {
    const { mcp, newCredential, validate } = await setUp();
    mcp.override = (_, response) => {
      response.writeHead(403).end();
      return true;
    };
    const made = await newCredential({ refresh: refreshAt(mcp) });
    expect(await validate(made)).toMatchObject({ status: "invalid", refresh: null });
    expect(rpcOf(mcp)).toEqual(["initialize"]);
  });

  const secret = "c:li ent&s3cret%";
  test.each<[string, TokenAuth, McpServerOptions["client"]]>([
    ["none", { type: "none" }, { auth: "none", id: "client 1" }],
    [
      "client_secret_basic",
      { type: "client_secret_basic", client_secret: secret },
      { auth: "basic", id: "client 1", secret },
    ],
    [
      "client_secret_post",
      { type: "client_secret_post", client_secret: secret },
      { auth: "post", id: "client 1", secret },
    ],
  ])("is refreshed with %s, stored, tried and valid", async (_, auth, client) => {
    const { mcp, newCredential, validate, secretsOf, vaults, vault } = await setUp({
      refreshTokens: [REFRESH],
      ...(client && { client }),
    });
    const fields = { scope: "read write", resource: "https://mcp.example" };
    const made = await newCredential({ refresh: refreshAt(mcp, auth, fields) });
    expect(await validate(made)).toMatchObject({
      status: "valid",
      has_refresh_token: true,
      mcp_probe: null,
      refresh: { status: "succeeded", http_response: null },
    });
    const form = new URLSearchParams(mcp.seen.find(({ path }) => path === "/token")?.body);
    expect([form.get("scope"), form.get("resource")]).toEqual([
      "read write",
      "https://mcp.example",
    ]);
    const secrets = await secretsOf(made);
    expect(mcp.refreshTokens).toEqual(new Set([secrets?.["refresh_token"]]));
    expect(mcp.accessTokens).toContain(secrets?.["access_token"]);
    const after = await vaults.credentials.retrieve(made.id, { vault_id: vault.id });
    expect(after.auth).toHaveProperty("expires_at");
    // The next time nothing has to be refreshed.
    expect(await validate(made)).toMatchObject({ status: "valid", refresh: null });
  });

  test("is invalid if the refresh is refused, and says how, without a secret", async () => {
    const { mcp, newCredential, validate, secretsOf, world } = await setUp();
    const made = await newCredential({ refresh: refreshAt(mcp) });
    const validation = await validate(made);
    expect(validation).toMatchObject({
      status: "invalid",
      mcp_probe: { method: "initialize", http_response: { status_code: 401 } },
      refresh: {
        status: "failed",
        http_response: { status_code: 400, content_type: "application/json" },
      },
    });
    expect(validation.refresh?.http_response?.body).toContain("invalid_grant");
    expect(JSON.stringify([validation, world.logged])).not.toContain("canary");
    expect(await secretsOf(made)).toMatchObject({ access_token: OLD, refresh_token: REFRESH });
  });

  test.each<[string, number, string]>([
    ["a busy token endpoint", 503, "later"],
    ["one that asks for patience", 429, "later"],
    ["one that leads elsewhere", 302, "elsewhere"],
    ["one whose answer is no token", 200, "hello access canary"],
  ])("is unknown with %s", async (_, status, body) => {
    const { mcp, newCredential, validate, secretsOf } = await setUp({ refreshTokens: [REFRESH] });
    mcp.override = ({ path }, response) => {
      if (path !== "/token") return false;
      response.writeHead(status, { location: mcp.url, "content-type": "text/plain" }).end(body);
      return true;
    };
    const made = await newCredential({ refresh: refreshAt(mcp) });
    const validation = await validate(made);
    expect(validation).toMatchObject({
      status: "unknown",
      refresh: { status: "failed", http_response: { status_code: status } },
    });
    expect(JSON.stringify(validation)).not.toContain("canary");
    expect(rpcOf(mcp)).toEqual(["initialize", "token"]);
    expect(await secretsOf(made)).toMatchObject({ refresh_token: REFRESH });
  });

  test("is unknown if the token endpoint cannot be reached, or must not be", async () => {
    const { mcp, newCredential, validate, world } = await setUp();
    const gone = await startMcpServer();
    await gone[Symbol.asyncDispose]();
    const unreachable = await newCredential({ refresh: refreshAt(gone) });
    expect(await validate(unreachable)).toMatchObject({
      status: "unknown",
      refresh: { status: "connect_error", http_response: null },
    });
    expect(rpcOf(mcp)).toEqual(["initialize"]);
    const logged = JSON.stringify(world.logged);
    expect(logged).toContain("was not asked");
    expect(logged).not.toContain("canary");
  });

  test("is invalid if the new one is refused as well, and the new one is kept", async () => {
    const { mcp, newCredential, validate, secretsOf } = await setUp({ refreshTokens: [REFRESH] });
    mcp.override = ({ path }, response) => {
      if (path === "/token") return false;
      response.writeHead(401).end("no");
      return true;
    };
    const made = await newCredential({ refresh: refreshAt(mcp) });
    expect(await validate(made)).toMatchObject({
      status: "invalid",
      mcp_probe: { http_response: { status_code: 401, body: "no" } },
      refresh: { status: "succeeded" },
    });
    expect(mcp.refreshTokens).toEqual(new Set([(await secretsOf(made))?.["refresh_token"]]));
  });
});

describe("an answer that proves nothing is unknown", () => {
  test.each<[string, number, string]>([
    ["an error of the server", 500, "oops"],
    ["a redirect", 307, "over there"],
    ["a page", 200, "<html>"],
    ["an error of the protocol", 200, '{"jsonrpc":"2.0","id":1,"error":{"code":-1}}'],
    ["an answer to something else", 200, '{"jsonrpc":"2.0","id":9,"result":{}}'],
  ])("%s", async (_, status, body) => {
    const { mcp, newCredential, validate } = await setUp();
    const target = await startMcpServer();
    onTestFinished(async () => await target[Symbol.asyncDispose]());
    mcp.override = (_seen, response) => {
      response.writeHead(status, { location: target.url }).end(body);
      return true;
    };
    const made = await newCredential({ access_token: GOOD, refresh: refreshAt(mcp) });
    expect(await validate(made)).toMatchObject({
      status: "unknown",
      mcp_probe: { method: "initialize", http_response: { status_code: status, body } },
      refresh: null,
    });
    expect([mcp.seen.length, target.seen.length]).toEqual([1, 0]);
  });

  test("no answer", async () => {
    const { mcp, newCredential, validate } = await setUp();
    const made = await newCredential();
    await mcp[Symbol.asyncDispose]();
    expect(await validate(made)).toMatchObject({
      status: "unknown",
      mcp_probe: { method: "initialize", http_response: null },
      refresh: null,
    });
  });

  test("a server that may not be dialled", async () => {
    const { mcp, newCredential, validate, world } = await setUp({}, []);
    expect(await validate(await newCredential({ access_token: GOOD }))).toMatchObject({
      status: "unknown",
      mcp_probe: { method: "initialize", http_response: null },
    });
    expect(mcp.seen).toEqual([]);
    expect(JSON.stringify(world.logged)).toContain("DROVER_EGRESS_ALLOW");
  });
});

describe("a refresh token is exchanged once", () => {
  test("however many ask at the same time", async () => {
    const { mcp, newCredential, validate, secretsOf } = await setUp({ refreshTokens: [REFRESH] });
    const made = await newCredential({ refresh: refreshAt(mcp) });
    const all = await Promise.all(Array.from({ length: 5 }, () => validate(made)));
    expect(all.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => "valid"));
    expect(rpcOf(mcp).filter((method) => method === "token")).toHaveLength(1);
    expect(mcp.refreshTokens).toEqual(new Set([(await secretsOf(made))?.["refresh_token"]]));
  });

  test("and what its user puts there meanwhile stays", async () => {
    const { mcp, newCredential, validate, secretsOf, vaults, vault } = await setUp({
      refreshTokens: [REFRESH],
    });
    const made = await newCredential({ refresh: refreshAt(mcp) });
    const update = (auth: object) =>
      vaults.credentials.update(made.id, {
        vault_id: vault.id,
        auth: { type: "mcp_oauth", ...auth },
      });
    const during = (change: () => Promise<unknown>) => {
      mcp.override = ({ path }, response) => {
        if (path !== "/token") return false;
        mcp.override = undefined;
        void change().then(() =>
          response
            .writeHead(200, { "content-type": "application/json" })
            .end(JSON.stringify({ access_token: "issued-canary", refresh_token: "next-canary" })),
        );
        return true;
      };
    };
    during(() => update({ access_token: "theirs-canary" }));
    expect(await validate(made)).toMatchObject({
      status: "unknown",
      refresh: { status: "succeeded" },
    });
    expect(await secretsOf(made)).toMatchObject({
      access_token: "theirs-canary",
      refresh_token: "next-canary",
    });
    during(() => update({ refresh: { refresh_token: "their-refresh-canary" } }));
    expect(await validate(made)).toMatchObject({ status: "unknown" });
    expect(await secretsOf(made)).toMatchObject({
      access_token: "theirs-canary",
      refresh_token: "their-refresh-canary",
    });
    during(() => vaults.credentials.archive(made.id, { vault_id: vault.id }));
    expect(await validate(made)).toMatchObject({ status: "unknown" });
    expect(await secretsOf(made)).toBeUndefined();
  });
});

test("only an OAuth credential that is not archived can be validated", async () => {
  const { newCredential, validate, vaults, vault } = await setUp();
  const bearer = await vaults.credentials.create(vault.id, {
    auth: { type: "static_bearer", token: "t", mcp_server_url: "https://other.example.com" },
  });
  await expect(validate(bearer)).rejects.toMatchObject({ status: 400 });
  await expect(validate(bearer)).rejects.toThrow("static_bearer");
  await expect(validate({ id: "vcrd_nobody" })).rejects.toMatchObject({ status: 404 });
  const made = await newCredential();
  await vaults.credentials.archive(made.id, { vault_id: vault.id });
  await expect(validate(made)).rejects.toMatchObject({ status: 400 });
});
