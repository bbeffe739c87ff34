import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createKeys } from "../app/keys.ts";
import { type Config, loadConfig } from "../config.ts";
import type { Store } from "../core/ports/store.ts";
import { acquireFileLock } from "../lib/file-lock.ts";
import { newId } from "../lib/new-id.ts";
import { systemClock } from "../lib/system-clock.ts";
import { openSqliteStore } from "../store/sqlite/sqlite-store.ts";
import { apiKeyFor } from "./api-key.ts";
import { rotateApiKey } from "./rotate-key.ts";

test("the new key opens and the old one does not any more", async () => {
  const config = settings();
  const old = apiKeyFor(config).reveal();
  await firstStart(config);
  expect(await openers(config, [old])).toEqual([true]);
  const next = (await rotateApiKey(config)).reveal();
  expect(apiKeyFor(config).reveal()).toBe(next);
  await firstStart(config);
  expect(await openers(config, [old, next])).toEqual([false, true]);
});

test("a rotation that was cut off is finished by the next", async () => {
  const config = settings();
  const old = apiKeyFor(config).reveal();
  await firstStart(config);
  const next = (await rotateApiKey(config)).reveal();
  // As if it had died before the last step.
  writeFileSync(join(config.data, "api-key"), old);
  writeFileSync(join(config.data, "api-key.next"), next);
  expect((await rotateApiKey(config)).reveal()).toBe(next);
  expect(await openers(config, [old, next])).toEqual([false, true]);
  expect(existsSync(join(config.data, "api-key.next"))).toBe(false);
});

test("while a server runs, or where the key is a setting, it is refused", async () => {
  const config = settings();
  const lock = acquireFileLock(join(config.data, "serve.lock"));
  await expect(rotateApiKey(config)).rejects.toThrow("A server is running");
  lock?.release();
  const fixed = loadConfig({ DROVER_DATA: config.data, DROVER_API_KEY: "a-key-of-the-settings" });
  await expect(rotateApiKey(fixed)).rejects.toThrow("DROVER_API_KEY");
});

/** What a server does with the key when it starts. */
async function firstStart(config: Config): Promise<void> {
  await withKeys(config, ({ keys, store }) =>
    store.write(async (tx) => {
      await keys.ensureFirst(tx, "wrkspc_test", apiKeyFor(config));
    }),
  );
}

async function openers(config: Config, candidates: readonly string[]): Promise<boolean[]> {
  return withKeys(config, async ({ keys }) =>
    Promise.all(candidates.map(async (key) => (await keys.authenticate(key)) !== undefined)),
  );
}

async function withKeys<T>(
  config: Config,
  use: (open: { keys: ReturnType<typeof createKeys>; store: Store }) => Promise<T>,
): Promise<T> {
  const store = openSqliteStore({
    dataFolder: config.data,
    clock: systemClock,
    announcements: { publish: () => undefined },
  });
  try {
    return await use({ keys: createKeys({ store, newId }), store });
  } finally {
    await store.close();
  }
}

function settings(): Config {
  const data = mkdtempSync(join(tmpdir(), "drover-rotate-"));
  onTestFinished(() => rmSync(data, { recursive: true }));
  return loadConfig({ DROVER_DATA: data });
}
