import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
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
    const { program } = withOldNode();
    const result = drover([], { program });
    expect(result.status).toBe(1);
    expect(result.stderr).toMatch(
      /^Drover needs Node 22\.12 or newer and this is v18\.20\.0; .*\n$/,
    );
  });

  test("runs with the newer Node that npm brought, whose exit code and signals are its own", async () => {
    const { program, folder } = withOldNode();
    mkdirSync(join(folder, "node_modules/.bin"), { recursive: true });
    symlinkSync(process.execPath, join(folder, "node_modules/.bin/node"));
    writeFileSync(
      join(folder, "dist/drover.mjs"),
      `process.on("SIGTERM", () => process.exit(7));
       setInterval(() => {}, 1000);
       console.log(process.version, ...process.argv.slice(2));`,
    );
    const child = spawn(process.execPath, [...program, "serve", "--now"]);
    const exit = new Promise((resolve) => child.once("exit", resolve));
    const [line] = await once(child.stdout, "data");
    expect(String(line)).toBe(`${process.version} serve --now\n`);
    child.kill("SIGTERM");
    expect(await exit).toBe(7);
  });
});

/**
 * The program's first file, as an old Node would run it: it asks `process.version`, which a module that
 * is loaded before it sets.
 */
function withOldNode(): { program: string[]; folder: string } {
  const folder = temporaryFolder();
  const old = join(folder, "old.mjs");
  writeFileSync(old, 'Object.defineProperty(process, "version", { value: "v18.20.0" });');
  for (const name of ["bin", "dist"]) mkdirSync(join(folder, name));
  writeFileSync(join(folder, "dist/drover.mjs"), "");
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const start = join(folder, "bin/drover.js");
  writeFileSync(start, readFileSync(join(SERVER, "bin/drover.js")));
  return { program: ["--import", old, start], folder };
}

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
