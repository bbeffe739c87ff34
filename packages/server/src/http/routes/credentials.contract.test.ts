import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSqliteStore } from "../../store/sqlite/sqlite-store.ts";
import { openWorld } from "../world.testsuite.ts";

const CANARY = "canary";

/** Every way in which a secret can come in, accepted or refused; each is another text. */
function secretsToSend() {
  let count = 0;
  const secret = () => {
    count += 1;
    return `${CANARY}-${count}`;
  };
  const oauth = () => ({
    type: "mcp_oauth",
    access_token: secret(),
    mcp_server_url: "https://oauth.example.com",
    refresh: {
      client_id: "c",
      refresh_token: secret(),
      token_endpoint: "https://auth.example.com",
      token_endpoint_auth: { type: "client_secret_post", client_secret: secret() },
    },
  });
  const bearer = () => ({
    type: "static_bearer",
    token: secret(),
    mcp_server_url: "https://bearer.example.com",
  });
  const variable = () => ({
    type: "environment_variable",
    secret_name: "TOKEN",
    secret_value: secret(),
    networking: { type: "unrestricted" },
  });
  return { secret, accepted: [oauth, bearer, variable] };
}

test("a secret is in no answer, no log and no file of the data folder", async () => {
  const world = await openWorld({ openStore: openSqliteStore });
  const { secret, accepted } = secretsToSend();
  const answers: string[] = [];
  const statuses: number[] = [];
  const post = async (path: string, body: unknown) => {
    const answer = await world.request("POST", path, body, { "x-stainless-retry-count": "0" });
    answers.push(JSON.stringify([answer.body, [...answer.headers]]));
    statuses.push(answer.status);
    return answer.body;
  };
  const { id } = await post("/v1/vaults", { display_name: "team" });
  const path = `/v1/vaults/${id}/credentials`;
  for (const auth of accepted) {
    const { id: credential } = await post(path, { auth: auth() });
    await post(path, { auth: auth() });
    await post(path, { auth: { ...auth(), surplus: secret() } });
    await post(path, { auth: { ...auth(), type: secret() } });
    await post(path, { auth: { ...auth(), mcp_server_url: `https://u:${secret()}@a.com` } });
    await post(path, `{"auth": ${JSON.stringify(auth())}`);
    const { mcp_server_url: _, ...update } = { mcp_server_url: "", ...auth() };
    await post(`${path}/${credential}`, { auth: { ...update, token: `${secret()}\n` } });
    await post(`${path}/${credential}`, { auth: { type: "static_bearer", token: secret() } });
  }
  expect(new Set(statuses)).toEqual(new Set([200, 400, 409]));
  for (const listed of await Promise.all([
    world.request("GET", path),
    world.request("GET", `${path}?include_archived=true`),
  ])) {
    answers.push(JSON.stringify(listed.body));
  }
  expect(answers.filter((answer) => answer.includes(CANARY))).toEqual([]);
  expect(JSON.stringify(world.logged)).not.toContain(CANARY);
  const files = readdirSync(world.dataFolder, { recursive: true, encoding: "utf8" });
  const holding = (text: string) =>
    files.filter((file) => readIfFile(join(world.dataFolder, file)).includes(text));
  expect(holding("mcp_server_url https://bearer.example.com")).not.toEqual([]);
  expect(holding(CANARY)).toEqual([]);
});

function readIfFile(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EISDIR") return "";
    throw error;
  }
}
