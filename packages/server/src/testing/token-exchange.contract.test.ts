import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createTestDatabase, startMcpServer } from "@drover/testing";
import { expect, onTestFinished, test } from "vitest";
import { sealedSecrets } from "../app/credential-secrets.ts";
import { createGrants } from "../app/session-grants.ts";
import { newSession } from "../core/ports/store.testsuite.ts";
import { newCredential } from "../core/ports/vaults.testsuite.ts";
import { keyOfAuth } from "../core/vaults/credential.ts";
import { Secret } from "../lib/secret.ts";
import { systemClock } from "../lib/system-clock.ts";
import { openPostgresStore } from "../store/postgres/postgres-store.ts";
import { createEnvelopeBox } from "../vault/envelope-box.ts";
import { givenKeys } from "../vault/given-keys.ts";
import type { ExchangeChildOptions } from "./token-exchange-child.testsuite.ts";

const CHILD = join(import.meta.dirname, "token-exchange-child.testsuite.ts");

test("50 calls of two processes, at the expiry of a token, make one exchange", async () => {
  await using database = await createTestDatabase();
  await using mcp = await startMcpServer({
    refreshTokens: ["first-refresh"],
    client: { auth: "basic", id: "client 1", secret: "client:secret" },
  });
  const options = await prepared(database.url, mcp);
  const children = await Promise.all([startChild(options), startChild(options)]);
  for (const { go } of children) go();
  const tokens = (await Promise.all(children.map(({ tokens }) => tokens))).flat();
  expect(tokens).toHaveLength(50);
  expect(new Set(tokens).size).toBe(1);
  expect(mcp.accessTokens).toContain(tokens[0]);
  expect(mcp.seen.filter(({ path }) => path === "/token")).toHaveLength(1);
});

/** A session in the database whose credential expires in a moment. */
async function prepared(
  url: string,
  mcp: Awaited<ReturnType<typeof startMcpServer>>,
): Promise<ExchangeChildOptions> {
  const encryptionKey = randomBytes(32).toString("base64");
  const grantsKey = randomBytes(32).toString("base64");
  const store = await openPostgresStore({
    url,
    clock: systemClock,
    announcements: { publish: () => undefined },
  });
  const session = newSession({ vault_ids: ["vlt_1"] });
  const { workspace_id } = session;
  const auth = {
    type: "mcp_oauth" as const,
    mcp_server_url: mcp.url,
    expires_at: new Date(Date.now() + 20_000).toISOString(),
    refresh: {
      ...{ client_id: "client 1", token_endpoint: mcp.tokenEndpoint },
      token_endpoint_auth: { type: "client_secret_basic" as const },
      ...{ resource: null, scope: null },
    },
  };
  const credential = newCredential({
    ...{ workspace_id, vault_id: "vlt_1", auth, auth_key: keyOfAuth(auth) },
  });
  const box = createEnvelopeBox(givenKeys([new Secret(encryptionKey)], "the test"));
  await store.write(async (tx) => {
    await tx.sessions.insert(session);
    const secrets = {
      access_token: "old",
      refresh_token: "first-refresh",
      client_secret: "client:secret",
    };
    await tx.credentials.insert(credential, sealedSecrets(box, credential, secrets));
  });
  await store.close();
  const grants = createGrants(Buffer.from(grantsKey, "base64"));
  const grant = grants.grantFor("session", workspace_id, session.id);
  return {
    ...{ url, encryptionKey, grantsKey, calls: 25 },
    session: { workspaceId: workspace_id, sessionId: session.id, grant },
    use: { id: credential.id, host: "127.0.0.1", purpose: "mcp" },
  };
}

async function startChild(options: ExchangeChildOptions) {
  const child = spawn(
    process.execPath,
    ["--conditions=drover-source", CHILD, JSON.stringify(options)],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe("ready");
  return {
    go: () => child.stdin.write("go\n"),
    tokens: lines.next().then(({ value }): string[] => JSON.parse(String(value))),
  };
}
