import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { loadConfig } from "../config.ts";
import { startServer } from "./main.ts";

/** What a server writes to its log from start to end. */
async function logOf(settings: Readonly<Record<string, string>>): Promise<string> {
  const data = mkdtempSync(join(tmpdir(), "drover-unsafe-"));
  onTestFinished(() => rmSync(data, { recursive: true }));
  const config = loadConfig({
    DROVER_DATA: data,
    DROVER_PORT: "0",
    DROVER_API_KEY: "key-of-this-test-0001",
    DROVER_LOG_LEVEL: "silent",
    ...settings,
  });
  const lines: string[] = [];
  const log = pino({ level: config.logLevel }, { write: (line) => void lines.push(line) });
  const server = await startServer(config, log);
  await server.close();
  return lines.join("");
}

test("a server without its safeguards says so at its start, whatever its log level", async () => {
  const said = await logOf({ DROVER_TEST_UNSAFE: "fence,reattach" });
  expect(JSON.parse(said)).toMatchObject({
    level: 40,
    unsafe: ["fence", "reattach"],
    msg: expect.stringContaining("DROVER_TEST_UNSAFE switches safeguards off"),
  });
});

test("a server with its safeguards has nothing to say", async () => {
  expect(await logOf({})).toBe("");
});
