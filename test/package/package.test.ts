import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { beforeAll, describe, expect, test } from "vitest";
import { drover, startServer, temporaryFolder } from "../support/drover.ts";
import { runOneTurn, textsOf } from "../support/session-run.ts";

const ROOT = join(import.meta.dirname, "../..");

describe("the package that is published", () => {
  beforeAll(() => {
    run("node", ["scripts/build.js"], ROOT);
  });

  test("installs into an empty folder, proves its sandbox and runs a session", async () => {
    const folder = installed();
    const program = [join(folder, "node_modules/drover/bin/drover.js")];
    const doctor = drover(["doctor"], { program, cwd: folder, env: { DROVER_DATA: folder } });
    expect(doctor.stderr).toBe("");
    expect(doctor.status).toBe(0);
    const server = await startServer({ program, cwd: folder });
    const client = new Anthropic({ baseURL: server.url, apiKey: server.apiKey });
    const turn = await runOneTurn(client, OFFLINE_COMMAND);
    expect(textsOf(turn.events, "agent.tool_result")).toContain("1000000007");
  });

  test("holds the program, its assets and licences, and one dependency", () => {
    const folder = join(installed(), "node_modules/drover");
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    expect(Object.keys(manifest.dependencies)).toEqual(["better-sqlite3"]);
    expect(readdirSync(folder).sort()).toEqual(
      ["LICENSE", "README.md", "bin", "demo", "dist", "package.json"].sort(),
    );
    const files = readdirSync(join(folder, "dist"), { recursive: true });
    expect(files).toEqual(
      expect.arrayContaining([
        "drover.mjs",
        "hands/agent/agent.pl",
        "store/migrations/0001-first-schema.sql",
        "THIRD-PARTY-LICENSES.txt",
      ]),
    );
    const notices = readFileSync(join(folder, "dist/THIRD-PARTY-LICENSES.txt"), "utf8");
    const named = [...notices.matchAll(/^(\S+) \d+\.\d+\.\d+ \(/gm)].map(([, name]) => name);
    expect(named).toEqual(expect.arrayContaining(["@anthropic-ai/sdk", "hono", "pino", "zod"]));
  });

  test("says in one sentence that a Node without its features is too old", () => {
    // The program asks `process.version`, which a preloaded module can make that of an old Node.
    const folder = temporaryFolder();
    const old = join(folder, "old.mjs");
    writeFileSync(old, 'Object.defineProperty(process, "version", { value: "v18.20.0" });');
    mkdirSync(join(folder, "dist"));
    writeFileSync(join(folder, "dist/drover.mjs"), "");
    mkdirSync(join(folder, "bin"));
    writeFileSync(
      join(folder, "bin/drover.js"),
      readFileSync(join(ROOT, "packages/server/bin/drover.js")),
    );
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    const result = drover([], { program: ["--import", old, join(folder, "bin/drover.js")] });
    expect(result.status).toBe(1);
    expect(result.stderr).toMatch(
      /^Drover needs Node 22\.12 or newer and this is v18\.20\.0; .*\n$/,
    );
  });
});

/** The answer is not in the script, so that it can only come from a command that ran. */
const OFFLINE_COMMAND = {
  model: "offline/script",
  text: [
    "```drover-script",
    '- { tool: bash, input: { command: "echo $((1000000000 + 7))" } }',
    "- say: Done.",
    "```",
  ].join("\n"),
};

/** Packs the package and installs it, from npm's cache where it can, into a folder of its own. */
function installed(): string {
  const folder = temporaryFolder();
  const listed = run("npm", ["pack", "--json", "--pack-destination", folder], SERVER);
  const [packed] = JSON.parse(listed);
  writeFileSync(join(folder, "package.json"), '{ "private": true }');
  const quiet = ["--prefer-offline", "--no-audit", "--no-fund"];
  run("npm", ["install", ...quiet, join(folder, packed.filename)], folder);
  return folder;
}

const SERVER = join(ROOT, "packages/server");

function run(command: string, args: readonly string[], cwd: string): string {
  const result = spawnSync(command, args, { cwd, encoding: "utf8", timeout: 120_000 });
  if (result.status !== 0) throw new Error(`${command} ${args.join(" ")}\n${result.stderr}`);
  return result.stdout;
}
