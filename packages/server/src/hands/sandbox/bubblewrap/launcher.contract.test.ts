import { type StdioOptions, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { BubblewrapProvider } from "./bubblewrap-provider.ts";

const LAUNCHER = join(import.meta.dirname, "../../agent/launch.pl");
const IS_ROOT = process.getuid?.() === 0;
const UID = IS_ROOT ? ["--uid", "300007"] : [];

/** Runs a program by the launcher in place of bubblewrap. */
async function launch(options: readonly string[], program: readonly string[], fds: number[] = []) {
  const stdio: StdioOptions = ["ignore", "pipe", "pipe", ...fds];
  const child = spawn("/usr/bin/perl", [LAUNCHER, ...options, "--", ...program], {
    stdio,
    env: {},
  });
  if (!child.stdout || !child.stderr) throw new Error("no pipes");
  const closed = new Promise((resolve) => child.on("close", resolve));
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { out, err, code: await closed };
}

const ME = ["--parent", String(process.pid)];

test("the launcher closes all descriptors that are not for the sandbox", async () => {
  const planted = openSync("/etc/hostname", "r");
  try {
    const fds = Array(6).fill(planted);
    const { out } = await launch([...ME, ...UID], ["/bin/sh", "-c", "ls /proc/self/fd"], fds);
    // The last is of the listing itself.
    expect(out.trim().split("\n")).toEqual(["0", "1", "2", "3", "4", "5", "6"]);
    const control = spawn("/bin/ls", ["/proc/self/fd"], {
      stdio: ["ignore", "pipe", "ignore", ...fds],
    });
    if (!control.stdout) throw new Error("no pipe");
    expect((await text(control.stdout)).trim().split("\n")).toContain("5");
  } finally {
    closeSync(planted);
  }
});

test("the launcher gives up new privileges, and the user and groups it had", async () => {
  const script =
    "id -u; id -g; id -G; grep NoNewPrivs /proc/self/status; cat /proc/self/oom_score_adj";
  const { out } = await launch([...ME, ...UID], ["/bin/sh", "-c", script]);
  const uid = IS_ROOT ? "300007" : String(process.getuid?.());
  expect(out.split("\n").slice(0, 2)).toEqual([
    uid,
    IS_ROOT ? "300007" : String(process.getgid?.()),
  ]);
  expect(out).toContain("NoNewPrivs:\t1\n500");
});

test("the launcher does not start anything for a parent that is gone", async () => {
  const { code, err } = await launch(["--parent", "1", ...UID], ["/bin/echo", "started"]);
  expect({ code, err }).toEqual({ code: 1, err: "drover-launch: the parent process is gone\n" });
});

test.runIf(IS_ROOT)("the launcher never runs bubblewrap as root", async () => {
  const { code, err, out } = await launch(ME, ["/bin/echo", "started"]);
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toContain("refusing to run bubblewrap as root");
  expect((await launch([...ME, "--uid", "0"], ["/bin/echo", "started"])).out).toBe("");
});

test("the agent refuses to run outside a sandbox, where its kill would reach everybody", async () => {
  const child = spawn("/usr/bin/perl", [join(LAUNCHER, "../agent.pl"), "9", "99", "999"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  if (!child.stderr) throw new Error("no pipe");
  expect(await text(child.stderr)).toBe("the agent runs only inside a sandbox\n");
});

test("sandboxes are not made by a worker thread, whose end would kill them", async () => {
  const provider = pathToFileURL(join(import.meta.dirname, "bubblewrap-provider.ts")).href;
  const script = `
    const { parentPort } = require("node:worker_threads");
    import(${JSON.stringify(provider)}).then(async ({ BubblewrapProvider }) => {
      const provider = new BubblewrapProvider({ dataFolder: process.argv[2], blobPath: () => "" });
      const { signal } = new AbortController();
      parentPort.postMessage(await provider.capabilities(signal).catch((error) => error.message));
    });
  `;
  const folder = mkdtempSync(join(tmpdir(), "drover-worker-"));
  const worker = new Worker(script, { eval: true, argv: [folder] });
  try {
    const message = await new Promise((resolve, reject) => {
      worker.once("message", resolve);
      worker.once("error", reject);
    });
    expect(message).toBe("sandboxes can only be made by the main thread");
  } finally {
    await worker.terminate();
    rmSync(folder, { recursive: true });
  }
});

test.each([
  [
    { bwrapPath: "/nowhere/bwrap" },
    /^bubblewrap is not installed: run `apt-get install bubblewrap`$/,
  ],
  [{ perlPath: "/nowhere/perl" }, /^perl is not installed: run `apt-get install perl-base`$/],
  [{ bwrapPath: "/bin/false" }, /^bubblewrap could not make a sandbox: exit status 1$/],
])("says what is missing and what helps: %j", async (missing, expected) => {
  const folder = mkdtempSync(join(tmpdir(), "drover-missing-"));
  try {
    const provider = new BubblewrapProvider({ dataFolder: folder, blobPath: () => "", ...missing });
    const tried = provider.capabilities(new AbortController().signal);
    await expect(tried).rejects.toThrow(
      expect.objectContaining({
        name: "SandboxUnavailableError",
        message: expect.stringMatching(expected),
      }),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});
