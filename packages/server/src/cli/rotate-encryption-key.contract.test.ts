import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestDatabase } from "@drover/testing";
import { pino } from "pino";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Config, loadConfig } from "../config.ts";
import { newCredential } from "../core/ports/vaults.testsuite.ts";
import { acquireFileLock } from "../lib/file-lock.ts";
import { Secret } from "../lib/secret.ts";
import { openEncryption } from "../serve/encryption.ts";
import { startServer } from "../serve/main.ts";
import { openStore } from "../serve/open-store.ts";
import { rotateEncryptionKey } from "./rotate-encryption-key.ts";

const CHILD = join(import.meta.dirname, "rotate-encryption-key-child.testsuite.ts");
const API_KEY = "key-of-this-test-0001";
const silent = () => undefined;

describe.each(["sqlite", "postgres"])("on %s", (engine) => {
  test("secrets are put under a new key, which the file holds first", async () => {
    const config = await settings();
    const credentials = await seal(config, 3);
    const [before] = keysOf(config);
    expect(await rotateEncryptionKey(config, silent)).toMatch(/^3 stored secrets were put under/);
    expect(keysOf(config)).toEqual([expect.any(String), before]);
    expect(await opened(config, credentials)).toEqual(credentials.map(({ id }) => id));
    keepOnly(config, 1);
    expect(await opened(config, credentials)).toEqual(credentials.map(({ id }) => id));
  });

  test("the key before the last rotation leaves the file with the next one", async () => {
    const config = await settings();
    const credentials = await seal(config, 1);
    const [first] = keysOf(config);
    await rotateEncryptionKey(config, silent);
    await rotateEncryptionKey(config, silent);
    const keys = keysOf(config);
    expect([keys.length, keys.includes(first ?? "")]).toEqual([2, false]);
    expect(await opened(config, credentials)).toEqual([credentials[0]?.id]);
  });

  test("a rotation that was killed between two transactions is finished without another key", async () => {
    const config = await settings();
    const credentials = await seal(config, 350);
    const child = spawnSync(
      process.execPath,
      ["--conditions=drover-source", "--disable-warning=ExperimentalWarning", CHILD, "2"],
      {
        encoding: "utf8",
        env: {
          DROVER_DATA: config.data,
          DROVER_DATABASE: config.postgresUrl?.reveal() ?? "sqlite",
        },
      },
    );
    expect([child.signal, child.stderr]).toEqual(["SIGKILL", ""]);
    const keys = keysOf(config);
    expect(keys).toHaveLength(2);
    const ids = credentials.map(({ id }) => id);
    expect(await opened(config, credentials)).toEqual(ids);
    expect(await rotateEncryptionKey(config, silent)).toMatch(/^150 stored secrets/);
    expect(keysOf(config)).toEqual(keys);
    keepOnly(config, 1);
    expect(await opened(config, credentials)).toEqual(ids);
  });

  test("a server that runs meanwhile seals under the new key and opens what was renewed", async () => {
    const config = await settings();
    const server = await startServer(config, pino({ level: "silent" }));
    onTestFinished(() => server.close());
    const call = async (method: string, path: string, body?: object) => {
      const response = await fetch(`${server.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" },
        ...(body && { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: (await response.json()) as { id: string } };
    };
    const vaults: string[] = [];
    const credentials: string[] = [];
    const add = async () => {
      const vault = await call("POST", "/v1/vaults", { display_name: "v" });
      const path = `/v1/vaults/${vault.body.id}/credentials`;
      const auth = { type: "static_bearer", token: "t", mcp_server_url: "https://example.com" };
      const { status, body } = await call("POST", path, { auth });
      expect(status).toBe(200);
      vaults.push(path);
      credentials.push(`${path}/${body.id}`);
    };
    for (let count = 0; count < 120; count += 1) await add();
    let isOver = false;
    const rotated = rotateEncryptionKey(config, silent).finally(() => {
      isOver = true;
    });
    do await add();
    while (!isOver);
    await rotated;
    const during = credentials.length;
    await add();
    expect(during).toBeGreaterThan(120);
    keepOnly(config, 1);
    for (const path of credentials) {
      // Replacing one secret opens what is stored.
      const auth = { type: "static_bearer", token: "another" };
      expect((await call("POST", path, { auth })).status).toBe(200);
    }
  });

  test("keys of the settings are not changed, and secrets go under the first of them", async () => {
    const [old, next] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)].map((key) =>
      key.toString("base64"),
    );
    const before = await settings({ DROVER_ENCRYPTION_KEY: `${old}` });
    const credentials = await seal(before, 2);
    const both = {
      ...(await settings({ DROVER_ENCRYPTION_KEY: `${next},${old}` })),
      ...placeOf(before),
    };
    expect(await rotateEncryptionKey(both, silent)).toMatch(
      /^2 stored secrets .*DROVER_ENCRYPTION_KEY/,
    );
    const after = { ...(await settings({ DROVER_ENCRYPTION_KEY: `${next}` })), ...placeOf(before) };
    expect(await opened(after, credentials)).toEqual(credentials.map(({ id }) => id));
    await expect(opened(before, credentials)).rejects.toThrow(
      "DROVER_ENCRYPTION_KEY does not hold",
    );
  });

  test("a server does not start without the key of what is stored, and makes no other", async () => {
    const config = await settings();
    await seal(config, 1);
    const start = () => startServer(config, pino({ level: "silent" }));
    const path = join(config.data, "encryption-keys");
    renameSync(path, `${path}.away`);
    await expect(start()).rejects.toThrow(`there is no key file ${path}`);
    await expect(start()).rejects.toThrow(/^The database holds encrypted secrets .*\.$/);
    writeFileSync(path, `${Buffer.alloc(32, 9).toString("base64")}\n`);
    await expect(start()).rejects.toThrow(`${path} does not hold`);
    renameSync(`${path}.away`, path);
    await (await start()).close();
  });

  test("of two first starts with other keys at once, one is refused", async () => {
    const keys = [1, 2].map((fill) => Buffer.alloc(32, fill).toString("base64"));
    const first = await settings({ DROVER_ENCRYPTION_KEY: `${keys[0]}` });
    const second = {
      ...(await settings({ DROVER_ENCRYPTION_KEY: `${keys[1]}` })),
      ...placeOf(first),
    };
    const starts = await Promise.allSettled([opened(first, []), opened(second, [])]);
    expect(starts.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });

  test("two rotations do not run at once", async () => {
    const config = await settings();
    const lock = acquireFileLock(join(config.data, "rotate-encryption-key.lock"));
    await expect(rotateEncryptionKey(config, silent)).rejects.toThrow("another process");
    lock?.release();
  });

  async function settings(more: Readonly<Record<string, string>> = {}): Promise<Config> {
    const data = temporaryFolder();
    const database = engine === "sqlite" ? undefined : await createTestDatabase();
    if (database !== undefined) onTestFinished(() => database[Symbol.asyncDispose]());
    return loadConfig({
      DROVER_DATA: data,
      DROVER_DATABASE: database?.url,
      DROVER_PORT: "0",
      DROVER_API_KEY: API_KEY,
      ...more,
    });
  }
});

type Credentials = readonly ReturnType<typeof newCredential>[];

async function seal(config: Config, count: number): Promise<Credentials> {
  await using world = await openDatabase(config);
  const credentials = Array.from({ length: count }, () => newCredential());
  await Promise.all(
    credentials.map((each) =>
      world.store.write((tx) =>
        tx.credentials.insert(each, { token: world.box.seal(new Secret(each.id), each.id) }),
      ),
    ),
  );
  return credentials;
}

/** What a process that starts now reads of them. */
async function opened(config: Config, credentials: Credentials): Promise<string[]> {
  await using world = await openDatabase(config);
  const texts: string[] = [];
  for (const { workspace_id, id } of credentials) {
    const { token } = await world.store.write((tx) => tx.credentials.findSecrets(workspace_id, id));
    texts.push(world.box.open(token?.sealed ?? "", id).reveal());
  }
  return texts;
}

async function openDatabase(config: Config) {
  const store = await openStore(config, { publish: silent }, { error: silent, info: silent });
  try {
    const { box } = await openEncryption(config, store);
    return { store, box, [Symbol.asyncDispose]: () => store.close() };
  } catch (error) {
    await store.close();
    throw error;
  }
}

function keysOf({ data }: Config): string[] {
  const lines = readFileSync(join(data, "encryption-keys"), "utf8").trim().split("\n");
  return lines.filter((line) => !line.startsWith("#"));
}

/** Takes all keys but the first ones out of the file. */
function keepOnly(config: Config, count: number): void {
  const kept = keysOf(config).slice(0, count).join("\n");
  writeFileSync(join(config.data, "encryption-keys"), `${kept}\n`);
}

/** Of the folder and the database. */
function placeOf({ data, postgresUrl }: Config): Pick<Config, "data" | "postgresUrl"> {
  return { data, ...(postgresUrl && { postgresUrl }) };
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "drover-rotate-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
