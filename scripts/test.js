// `npm test`: brings what it needs, then checks, builds and runs every suite this machine allows.
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { provideBubblewrap } from "./lib/bubblewrap.js";
import { provideClients } from "./lib/clients.js";
import { installPackages } from "./lib/install.js";
import { provideMeanwhile } from "./lib/meanwhile.js";
import { findNode, toolEnvironment } from "./lib/node.js";
import { ROOT, SERVER } from "./lib/paths.js";
import { providePostgres } from "./lib/postgres.js";
import { attempt, run } from "./lib/run.js";
import { say } from "./lib/say.js";
import { Stages } from "./lib/stages.js";
import { readVitestReport } from "./lib/vitest-report.js";

/** Where everything is to be proved: what cannot be run has failed. */
const PROVES_ALL = process.env.CI === "true" || process.env.CI === "1";
const STAGE_MS_MAX = 15 * 60_000;
/** Docker, gVisor, packages and root file systems of one's own: installs more than a developer asked for. */
const WITH_CONTAINERS = PROVES_ALL || process.argv.includes("--containers");

const stages = new Stages();
const bubblewrap = provideBubblewrap();
const postgres = providePostgres();
provideClients({ installers: false });
const meanwhile = WITH_CONTAINERS ? provideMeanwhile() : undefined;
await stages.run("install", async () => {
  await installPackages();
  return { passed: 0, failed: 0 };
});
const node = findNode();
const env = toolEnvironment(node);

await stages.run("check", check);
const build = await stages.run("build", () => succeed(node, ["scripts/build.js"]));
await stages.run("build conformance", () => succeed(node, ["scripts/build-conformance.js"]));
const noSandbox = await sandboxProblem(build.failed > 0);

await stages.run("scripts", scripts);
await stages.run("unit", () => vitest("unit"));
const withoutPostgres = postgresExclusions();
const slower = await meanwhile;
if (noSandbox === undefined) {
  await stages.run("contract", () => vitest("contract", [...withoutPostgres, ...slowSandboxes()]));
  await stages.run("system", () => vitest("system", withoutPostgres));
  await stages.run("conformance", () => vitest("conformance", withoutPostgres));
  await stages.run("faults", () => vitest("faults"));
} else {
  const withoutSandbox = ["hands/**", "cli/doctor*"].flatMap((path) => [
    "--exclude",
    `packages/server/src/${path}`,
  ]);
  await stages.run("contract, no sandbox", () =>
    vitest("contract", [...withoutSandbox, ...withoutPostgres]),
  );
  stages.skip("hands, system, conformance, faults", noSandbox, PROVES_ALL);
}
process.exitCode = stages.report();

/** The suites of slow sandboxes, run beside others, since they mostly wait; all that need Docker say so in their path. */
function slowSandboxes() {
  if (slower === undefined) return [];
  const project = ["--project", "containers"];
  if ("path" in slower.docker) return project;
  const { missing, fix } = slower.docker;
  stages.skip("Docker and gVisor", `${missing}; ${fix}.`, PROVES_ALL);
  return [...project, "--exclude", "**/docker*.test.ts"];
}

/** What is left out where PostgreSQL is missing: all that needs it says so in its path. */
function postgresExclusions() {
  if ("bin" in postgres) return [];
  stages.skip("PostgreSQL", `${postgres.missing}; ${postgres.fix}.`, PROVES_ALL);
  return ["--exclude", "**/*postgres*", "--exclude", "**/postgres/**"];
}

async function check() {
  const results = [
    await succeed("biome", ["check", "."]),
    await succeed("tsc", ["-b"]),
    await succeed("knip", []),
  ];
  return {
    passed: results.reduce((sum, { passed }) => sum + passed, 0),
    failed: results.reduce((sum, { failed }) => sum + failed, 0),
    failures: results.flatMap(({ failures = [] }) => failures),
  };
}

/** A program that says by its exit code whether all is well counts as one test. */
async function succeed(command, args) {
  const code = await run(command, args, { env, timeoutMs: STAGE_MS_MAX });
  if (code === 0) return { passed: 1, failed: 0 };
  const failure = `${command} ${args.join(" ")} failed (exit code ${code}).`;
  return { passed: 0, failed: 1, failures: [failure] };
}

async function vitest(project, more = []) {
  const folder = join(ROOT, "node_modules", ".cache", "drover");
  const report = join(folder, `${project}.json`);
  mkdirSync(folder, { recursive: true });
  rmSync(report, { force: true });
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const args = ["run", "--project", project, ...reporters, ...more];
  const code = await run("vitest", args, { env, timeoutMs: STAGE_MS_MAX });
  return readVitestReport(report, code);
}

/** The scripts are tested with Node's own runner: they must work before anything is installed. */
async function scripts() {
  const { ok, output } = attempt(
    process.execPath,
    ["--test", "--test-reporter=tap", "scripts/lib/lib.test.js"],
    {
      timeoutMs: STAGE_MS_MAX,
    },
  );
  say(output);
  const count = (word) => Number(new RegExp(`^# ${word} (\\d+)$`, "m").exec(output)?.[1] ?? 0);
  const failed = count("fail") + count("cancelled");
  const failures = output.split("\n").filter((line) => /^\s*not ok /.test(line));
  return { passed: count("pass"), failed: !ok && failed === 0 ? 1 : failed, failures };
}

/** Why no sandbox runs here and what to do, or undefined: found out by running one. */
async function sandboxProblem(isUnbuilt) {
  if ("missing" in bubblewrap) return `${bubblewrap.missing}; ${bubblewrap.fix}.`;
  if (isUnbuilt) return undefined;
  const doctor = attempt(node, [join(SERVER, "bin", "drover.js"), "doctor"], { env });
  say(doctor.output);
  return doctor.ok
    ? undefined
    : "No sandbox runs here; `npx drover doctor`, shown above, says why.";
}
