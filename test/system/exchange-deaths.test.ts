import { type McpServer, startMcpServer, startMessagesApi } from "@drover/testing";
import { type TestContext, test } from "vitest";
import { lastWords } from "./support/last-words.ts";
import { World } from "./support/world.ts";

/** Hands that die around the exchange of a refresh token, which its endpoint takes only once. */

/** The claim of the dead ends after half a minute. */
const CASE_MS = 120_000;

test.concurrent("hands that die before they send a refresh token have lost nothing", {
  timeout: CASE_MS,
}, async ({ expect, onTestFinished }) => {
  await using mcp = await startMcpServer({ refreshTokens: ["first-refresh"] });
  const world = await startedWorld(onTestFinished, "hands.exchange.before:1");
  const validate = await credentialIn(world, mcp);
  await expect(validate()).rejects.toMatchObject({ status: 529 });
  expect(exchangesOf(mcp)).toBe(0);
  await world.restart();
  expect(await validate()).toMatchObject({ status: "valid", refresh: { status: "succeeded" } });
  expect(exchangesOf(mcp)).toBe(1);
});

test.concurrent("a token that was lost with the hands is told as refused, and not asked for by use after use", {
  timeout: CASE_MS,
}, async ({ expect, onTestFinished }) => {
  await using mcp = await startMcpServer({ refreshTokens: ["first-refresh"] });
  const world = await startedWorld(onTestFinished, "hands.exchange.after:1");
  const validate = await credentialIn(world, mcp);
  await expect(validate()).rejects.toMatchObject({ status: 529 });
  expect(exchangesOf(mcp)).toBe(1);
  await world.restart();
  expect(await validate()).toMatchObject({
    status: "invalid",
    refresh: { status: "failed", http_response: { status_code: 400 } },
  });
  expect(exchangesOf(mcp)).toBe(2);
});

const exchangesOf = (mcp: McpServer) => mcp.seen.filter(({ path }) => path === "/token").length;

/** Its first hands die at the point. */
async function startedWorld(
  onFinished: TestContext["onTestFinished"],
  point: string,
): Promise<World> {
  const world = new World(await startMessagesApi({ script: lastWords() }), {
    DROVER_EGRESS_ALLOW: "127.0.0.1",
  });
  onFinished(async () => await world.close());
  await world.start();
  await world.startMortalHands(point);
  return world;
}

/** A function that validates a new credential, whose access token is old. */
async function credentialIn(world: World, mcp: McpServer) {
  const vault = await world.client.beta.vaults.create({ display_name: "team" });
  const { id } = await world.client.beta.vaults.credentials.create(vault.id, {
    auth: {
      type: "mcp_oauth",
      access_token: "old-access",
      mcp_server_url: mcp.url,
      refresh: {
        client_id: "client",
        refresh_token: "first-refresh",
        token_endpoint: mcp.tokenEndpoint,
        token_endpoint_auth: { type: "client_secret_post", client_secret: "secret" },
      },
    },
  });
  return () => world.client.beta.vaults.credentials.mcpOAuthValidate(id, { vault_id: vault.id });
}
