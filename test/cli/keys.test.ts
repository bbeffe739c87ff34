import { expect, test } from "vitest";
import { drover, startServer, temporaryFolder } from "../support/drover.ts";

test("keys and workspaces are made, listed and revoked on the running server", async () => {
  const server = await startServer();
  const env = { DROVER_DATA: server.data, DROVER_API_KEY: server.apiKey };
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = drover(args, { env });
    expect(status, stderr).toBe(0);
    return stdout.trim();
  };
  const statusOf = async (key: string, method = "GET") =>
    (await fetch(`${server.url}/v1/agents`, { method, headers: { "x-api-key": key } })).status;
  const workspace = run("workspaces", "create", "Blue team");
  const key = run("keys", "create", "ci", "--role", "read_only", "--workspace", workspace);
  expect([await statusOf(key), await statusOf(key, "POST")]).toEqual([200, 403]);
  const [id = ""] = run("keys", "list", "--workspace", workspace).split(" ");
  run("keys", "revoke", id, "--workspace", workspace);
  expect(await statusOf(key)).toBe(401);
  expect(run("workspaces", "list")).toContain(workspace);
  expect(drover(["keys", "revoke", "apikey_x"], { env }).stderr).toContain("there is no API key");
});

test("without a running server the sentence says what to do", () => {
  const { status, stderr } = drover(["keys", "list"], { env: { DROVER_DATA: temporaryFolder() } });
  expect([status, stderr]).toEqual([1, expect.stringContaining("drover serve")]);
});
