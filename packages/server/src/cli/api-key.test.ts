import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Secret } from "../lib/secret.ts";
import { apiKeyFor } from "./api-key.ts";

test("a key is made once and kept for its owner alone", () => {
  const data = join(temporaryFolder(), "data");
  const first = apiKeyFor({ data }).reveal();
  expect(first).toMatch(/^drv_\w{43}$/);
  expect(apiKeyFor({ data }).reveal()).toBe(first);
  expect(statSync(join(data, "api-key")).mode & 0o777).toBe(0o600);
  expect(statSync(data).mode & 0o777).toBe(0o700);
});

test("a key of the settings is taken, and nothing is written", () => {
  const data = join(temporaryFolder(), "data");
  expect(apiKeyFor({ data, apiKey: new Secret("mine-and-mine-alone") }).reveal()).toBe(
    "mine-and-mine-alone",
  );
  expect(statSync(data, { throwIfNoEntry: false })).toBeUndefined();
});

test("a key file without a key is not taken for one", () => {
  const data = temporaryFolder();
  writeFileSync(join(data, "api-key"), "\n");
  expect(() => apiKeyFor({ data })).toThrow("does not hold a key");
});

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "drover-key-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}
