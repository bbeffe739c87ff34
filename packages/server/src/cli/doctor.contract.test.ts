import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadConfig } from "../config.ts";
import type { Sandbox } from "../core/ports/sandbox.ts";
import { examine } from "./doctor.ts";
import { tryToGetOut } from "./doctor-sandbox.ts";

test("a machine that runs sandboxes is healthy, and nothing is left behind", async () => {
  const data = temporaryFolder();
  const { lines, isHealthy } = await examine(loadConfig({ DROVER_DATA: data }));
  expect(lines.filter((line) => line.startsWith("FAIL"))).toEqual([]);
  expect(lines.join("\n")).toMatch(
    /^ok {4}sandbox +made by bubblewrap, and a command run, in \d+ ms$/m,
  );
  expect(lines.join("\n")).toMatch(/^ok {4}git +[\d.]+, for sessions with repositories$/m);
  expect(isHealthy).toBe(true);
  expect(readdirSync(data)).toEqual([]);
});

test("where spare sandboxes are set, one is made and used", async () => {
  const data = temporaryFolder();
  const env = { DROVER_DATA: data, DROVER_SANDBOX_WARM: "2" };
  const { lines, isHealthy } = await examine(loadConfig(env));
  expect(lines.join("\n")).toMatch(
    /^ok {4}spares +one that was made before was used, and a command run, in \d+ ms$/m,
  );
  expect([isHealthy, readdirSync(data)]).toEqual([true, []]);
});

test("where bubblewrap is missing, the remedy is named", async () => {
  const env = { DROVER_DATA: temporaryFolder(), DROVER_BWRAP: "/nowhere/bwrap" };
  const { lines, isHealthy } = await examine(loadConfig(env));
  expect(lines.join("\n")).toMatch(
    /^FAIL {2}bubblewrap +\/nowhere\/bwrap does not run; .*apt-get/m,
  );
  expect(lines.join("\n")).toMatch(/^FAIL {2}sandbox /m);
  expect(isHealthy).toBe(false);
});

test("what hides and forbids nothing is found out, point by point", async () => {
  // The host itself, as a sandbox would be if bubblewrap separated nothing.
  const host: Pick<Sandbox, "exec"> = {
    async exec({ command }, onOutput) {
      const { status, stdout } = spawnSync("bash", ["-c", harmless(command)]);
      onOutput(stdout);
      return { exitCode: status, ended: "exited" };
    },
  };
  const findings = await tryToGetOut(host, new AbortController().signal);
  expect(findings.map(({ subject, verdict }) => [subject, verdict])).toEqual([
    ["files", "fault"],
    ["programs", "fault"],
    ["network", "fault"],
    ["processes", "fault"],
  ]);
});

/** What writes to the host's programs writes elsewhere in this test. */
function harmless(command: string): string {
  return command.replace("touch /usr/bin/drover-doctor", "true");
}

test("a data folder that is a file is said in a sentence", async () => {
  const file = join(temporaryFolder(), "file");
  writeFileSync(file, "");
  const { lines, isHealthy } = await examine(loadConfig({ DROVER_DATA: join(file, "data") }));
  expect(lines[1]).toMatch(/^FAIL {2}data +.*is in the way: it is not a folder/);
  expect(isHealthy).toBe(false);
});

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "drover-doctor-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
