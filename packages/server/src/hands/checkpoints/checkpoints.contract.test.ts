import { createHash } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Recipe } from "../../core/ports/hands.ts";
import type { Sandbox } from "../../core/ports/sandbox.ts";
import { openBubblewrapWorld } from "../sandbox/bubblewrap/test-world.ts";
import { CheckpointError, takeCheckpoint } from "./take-checkpoint.ts";

const NEVER = new AbortController().signal;
const RECIPE: Recipe = {
  provider: "bubblewrap",
  base: { type: "host" },
  mounts: [],
  network: { type: "none" },
};

async function open() {
  const world = await openBubblewrapWorld();
  onTestFinished(() => world[Symbol.asyncDispose]());
  /** Where the provider of this world looks for blobs. */
  const blobs = {
    put: async (_workspaceId: string, content: AsyncIterable<Uint8Array>) => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of content) chunks.push(chunk);
      const bytes = Buffer.concat(chunks);
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      await writeFile(join(world.folder, sha256), bytes, { mode: 0o600 });
      return { sha256, size_bytes: bytes.byteLength };
    },
  };
  const provision = (handId: string, recipe: Recipe = RECIPE) =>
    world.provider.provision({ workspaceId: "wrkspc_1", handId, recipe }, NEVER);
  const take = (sandbox: Sandbox, bytesMax?: number) =>
    takeCheckpoint(sandbox, { blobs, workspaceId: "wrkspc_1", bytesMax }, NEVER);
  return { world, provision, take };
}

async function run(sandbox: Sandbox, command: string): Promise<string> {
  let said = "";
  const onOutput = (chunk: Uint8Array) => {
    said += Buffer.from(chunk).toString();
  };
  await sandbox.exec({ command, timeoutMs: 20_000 }, onOutput, NEVER);
  return said;
}

test("another hand begins with the files of the first, once, and they part from there", async () => {
  const { world, provision, take } = await open();
  const first = await provision("hand-first");
  await run(
    first,
    `cd /workspace && mkdir -p a/b && echo one > a/b/file && printf '\\0\\1' > binary && chmod 700 a &&
     ln -s a/b/file link && ln -s /etc/passwd out && ln a/b/file hard && mkfifo pipe && : > "odd
name" && echo two > run.sh && chmod +x run.sh && echo result > /mnt/session/outputs/result.txt &&
     echo no > closed && chmod 0 closed`,
  );
  const checkpoint = await take(first);
  const second = await provision("hand-second", { ...RECIPE, checkpoint });
  const look = `cd /workspace && cat a/b/file link hard && od -An -tx1 binary && readlink out && ls -1 &&
    test -x run.sh && test a/b/file -ef hard && cat /mnt/session/outputs/result.txt; ls /mnt/session/.spill`;
  const [one, two] = [await run(first, look), await run(second, look)];
  expect(two.replace("closed\n", "")).toBe(one.replace("closed\n", ""));
  expect(two).toContain("result");
  await run(
    second,
    "echo changed > /workspace/a/b/file; rm /workspace/link; echo new > /workspace/new",
  );
  expect(await run(first, "cat /workspace/a/b/file; ls /workspace/new 2>&1")).toMatch(
    /^one\n.*No such/,
  );
  await second.close();
  const again = await provision("hand-second", { ...RECIPE, checkpoint });
  expect(await run(again, "cat /workspace/a/b/file /workspace/new")).toBe("changed\nnew\n");
  await again.close();
  // As if it had been killed before it could note that all was unpacked.
  await rm(join(world.folder, "hands/hand-second/restored"));
  const anew = await provision("hand-second", { ...RECIPE, checkpoint });
  expect(await run(anew, "cat /workspace/a/b/file; ls /workspace")).toMatch(/^one\n/);
  expect(await run(anew, "ls /workspace/new 2>&1")).toContain("No such");
});

test("what is made to look like an archive can do no more than a call", async () => {
  const { world, provision } = await open();
  const evil = await provision("hand-evil");
  await run(
    evil,
    `cd /workspace && mkdir -p x && ln -s / x/root && echo evil > target &&
     tar --create --file evil.tar --absolute-names --transform 's,target,/mnt/session/uploads/planted,' target &&
     tar --append --file evil.tar --absolute-names --transform 's,target,/etc/planted,' target`,
  );
  const { bytes } = await evil.read("/workspace/evil.tar", { offset: 0, limit: 100_000 });
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  await writeFile(join(world.folder, sha256), bytes);
  const checkpoint = { sha256, size_bytes: bytes.byteLength };
  await expect(provision("hand-victim", { ...RECIPE, checkpoint })).rejects.toThrow("unpacked");
  const plain = await provision("hand-victim");
  expect(await run(plain, "ls /mnt/session/uploads /etc/planted 2>&1")).not.toContain("evil");
  const noise = Buffer.from("no archive at all");
  const odd = createHash("sha256").update(noise).digest("hex");
  await writeFile(join(world.folder, odd), noise);
  const broken = { ...RECIPE, checkpoint: { sha256: odd, size_bytes: noise.byteLength } };
  await expect(provision("hand-other", broken)).rejects.toThrow("unpacked");
});

test("files that are too much are refused, and nothing of the attempt stays", async () => {
  const { provision, take } = await open();
  const sandbox = await provision("hand-large");
  await run(sandbox, "head -c 3000000 /dev/urandom > /workspace/large");
  await expect(take(sandbox, 1_000_000)).rejects.toThrow(CheckpointError);
  expect(await run(sandbox, "ls -A /mnt/session/.spill")).toBe("");
  expect((await take(sandbox, 4_000_000)).size_bytes).toBeGreaterThan(3_000_000);
});
