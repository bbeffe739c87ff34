import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import Anthropic from "@anthropic-ai/sdk";
import { expect, onTestFinished, test } from "vitest";
import { drover, FROM_SOURCE, startServer, temporaryFolder } from "../support/drover.ts";

test("a started server says where it listens in one line, and ends in order when told to", async () => {
  const server = await startServer();
  const client = new Anthropic({ baseURL: server.url, apiKey: server.apiKey });
  expect((await client.beta.sessions.list()).data).toEqual([]);
  expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const ended = new Promise((resolve) => server.process.once("exit", resolve));
  const stopped = drover(["stop", "--hands"], { env: { DROVER_DATA: server.data } });
  expect(stopped.stdout).toMatch(/^Stopped the server \(process \d+\)/);
  expect(await ended).toBe(0);
});

test("the key that is made at the first start opens the server, and no other does", async () => {
  const data = temporaryFolder();
  const env = { DROVER_DATA: data };
  const key = drover(["keys", "show"], { env }).stdout.trim();
  const server = await startServer({ env: { ...env, DROVER_API_KEY: "" } });
  const client = (apiKey: string) => new Anthropic({ baseURL: server.url, apiKey, maxRetries: 0 });
  expect((await client(key).beta.agents.list()).data).toEqual([]);
  await expect(client("another-key").beta.agents.list()).rejects.toThrow(
    Anthropic.AuthenticationError,
  );
});

test("a second server on a folder is refused with a sentence", async () => {
  const first = await startServer();
  const second = serve({ DROVER_DATA: first.data });
  expect(second).toEqual({ status: 1, lines: [expect.stringContaining(first.data)] });
});

test("an encryption key that is none is refused with a sentence that does not hold it", () => {
  const refused = serve({ DROVER_ENCRYPTION_KEY: "canary" });
  expect(refused).toEqual({
    status: 1,
    lines: [expect.stringMatching(/^Key 1 of 1 in DROVER_ENCRYPTION_KEY is not usable: /)],
  });
  expect(refused.lines.join()).not.toContain("canary");
});

test("a taken port is refused with a sentence that names it", async () => {
  const holder = createServer();
  onTestFinished(() => {
    holder.close();
  });
  await new Promise<void>((resolve) => holder.listen(0, "127.0.0.1", resolve));
  const address = holder.address();
  const port = typeof address === "object" ? String(address?.port) : "";
  const refused = serve({ DROVER_PORT: port });
  expect(refused).toEqual({
    status: 1,
    lines: [expect.stringMatching(`^The address 127\\.0\\.0\\.1:${port} is taken`)],
  });
});

test("a data folder that cannot be made is refused with a sentence", () => {
  const file = join(temporaryFolder(), "file");
  writeFileSync(file, "");
  expect(serve({ DROVER_DATA: join(file, "data") })).toEqual({
    status: 1,
    lines: [expect.stringContaining("is in the way: it is not a folder")],
  });
});

test("a data folder that may only be read is refused with a sentence", () => {
  const data = temporaryFolder();
  const refused = serveIn(["--ro-bind", data, data], { DROVER_DATA: data });
  expect(refused).toEqual({
    status: 1,
    lines: [expect.stringContaining("Permission is missing for")],
  });
});

test("a full disk is refused with a sentence", () => {
  const data = temporaryFolder();
  const refused = serveIn(["--size", "65536", "--tmpfs", data], { DROVER_DATA: data });
  expect(refused).toEqual({ status: 1, lines: [expect.stringContaining("The disk is full")] });
});

test("a folder that a newer Drover wrote is refused with a sentence", async () => {
  const server = await startServer();
  drover(["stop", "--hands"], { env: { DROVER_DATA: server.data } });
  const database = new DatabaseSync(join(server.data, "drover.db"));
  database.exec("insert into migrations (version, name) values (9999, 'from-the-future')");
  database.close();
  expect(serve({ DROVER_DATA: server.data })).toEqual({
    status: 1,
    lines: [expect.stringMatching(/schema 9999.*newer Drover/)],
  });
});

test.each([
  [{ DROVER_PROT: "1" }, "DROVER_PROT in the environment is not a setting of Drover."],
  [{ DROVER_DATABASE: "postgres://127.0.0.1:1/drover" }, "PostgreSQL server cannot be reached"],
  [
    { DROVER_MODEL_BASE_URL: "http://localhost:8421", DROVER_PORT: "8421" },
    "is this server itself",
  ],
])("the settings %j are refused with a sentence", (env, sentence) => {
  expect(serve(env)).toEqual({ status: 1, lines: [expect.stringContaining(sentence)] });
});

/** Starts a server that must not start; its log is off, so that only what the command says is there. */
function serve(env: Readonly<Record<string, string>>): { status: number | null; lines: string[] } {
  const result = drover(["serve"], { env: { ...defaults(), ...env } });
  return { status: result.status, lines: result.stderr.trim().split("\n") };
}

/** The same where bubblewrap arranges the file system. */
function serveIn(
  mounts: readonly string[],
  env: Readonly<Record<string, string>>,
): { status: number | null; lines: string[] } {
  const node = [process.execPath, ...FROM_SOURCE, "serve"];
  const result = spawnSync("bwrap", ["--dev-bind", "/", "/", ...mounts, ...node], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"], ...defaults(), ...env },
    timeout: 100_000,
  });
  return { status: result.status, lines: result.stderr.trim().split("\n") };
}

function defaults(): Record<string, string> {
  const data = join(temporaryFolder(), "data");
  mkdirSync(data);
  return { DROVER_DATA: data, DROVER_PORT: "0", DROVER_LOG_LEVEL: "silent" };
}
