import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { testExternalSecrets } from "../../core/ports/external-secrets.testsuite.ts";
import { SecretCommand } from "./secret-command.ts";
import { SecretFiles } from "./secret-files.ts";

async function openFolder() {
  const folder = await mkdtemp(join(tmpdir(), "drover-secrets-"));
  const pathOf = (workspaceId: string, name: string) => join(folder, workspaceId, name);
  return {
    folder,
    put: async (workspaceId: string, name: string, text: string) => {
      const path = pathOf(workspaceId, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    },
    remove: (workspaceId: string, name: string) => rm(pathOf(workspaceId, name)),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

/** A program that a test writes, in a folder of its own. */
async function program(script: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "drover-program-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "read-secret");
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o700);
  return path;
}

const never = new AbortController().signal;

testExternalSecrets("files", async () => {
  const world = await openFolder();
  return { ...world, secrets: new SecretFiles(world.folder) };
});

testExternalSecrets("a command", async () => {
  const world = await openFolder();
  const path = await program(`exec cat "${world.folder}/$1/$2"`);
  return { ...world, secrets: new SecretCommand(path) };
});

test("a folder as it is mounted, with links inside it, is read", async () => {
  await using world = await openFolder();
  await world.put("wrkspc_1", "data-1/key", "canary");
  await symlink("data-1/key", join(world.folder, "wrkspc_1", "key"));
  const answer = await new SecretFiles(world.folder).read("wrkspc_1", "key", never);
  expect(answer.type === "secret" && answer.secret.reveal()).toBe("canary");
});

test("a program that fails, writes to stderr or cannot be run is told without its words", async () => {
  const failing = await program('echo "canary on stderr" >&2; echo canary; exit 3');
  const answer = await new SecretCommand(failing).read("wrkspc_1", "key", never);
  expect(answer).toEqual({
    type: "unavailable",
    message: "the program that reads it ended with 3",
  });
  const missing = await new SecretCommand("/no/such/program").read("w", "key", never);
  expect(missing).toMatchObject({ message: "the program that reads it cannot be run" });
});

test("a program that hangs is ended with the signal, and one that never stops is cut off", async () => {
  const hanging = await program("exec sleep 1000");
  const stop = new AbortController();
  const answer = new SecretCommand(hanging).read("wrkspc_1", "key", stop.signal);
  stop.abort();
  expect(await answer).toMatchObject({ type: "unavailable" });
  const endless = await program("exec yes canary");
  expect(await new SecretCommand(endless).read("wrkspc_1", "key", never)).toEqual({
    type: "unavailable",
    message: "it is too large for a secret",
  });
});

test("the program gets nothing of our environment but a path", async () => {
  const answer = await new SecretCommand(await program("exec env")).read("w", "key", never);
  if (answer.type !== "secret") throw new Error(answer.message);
  const names = answer.secret
    .reveal()
    .split("\n")
    .map((line) => line.split("=")[0]);
  expect(names).toContain("PATH");
  // What a shell sets by itself.
  expect(
    names.filter((name) => !["PATH", "PWD", "OLDPWD", "SHLVL", "_"].includes(name ?? "")),
  ).toEqual([]);
});
