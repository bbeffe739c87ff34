import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { bootId } from "../../core/sandboxes/boot-id.ts";
import { acquireFileLock } from "../../lib/file-lock.ts";
import { makeCall } from "../fake/make-call.ts";
import type { MarkingHandsOptions } from "../fake/marking-hands-main.ts";
import { markingHandsArgs } from "../fake/marking-world.ts";
import { HandsConnection } from "../protocol/hands-connection.ts";
import {
  HANDS_RUNNING_EXIT_CODE,
  type HandsFile,
  handsFilePath,
  PROTOCOL_VERSION,
  processStart,
  readHandsFile,
  writeHandsFile,
} from "../protocol/hands-file.ts";

test("publishes how to find it, for its owner only", async () => {
  const { dataDir, file, child } = await startHands();
  expect(file).toEqual({
    installation_id: (await readFile(join(dataDir, "installation-id"), "utf8")).trim(),
    boot: expect.stringMatching(/^boot_/),
    pid: child.pid,
    pid_start: await processStart(child.pid ?? 0),
    address: { type: "socket", path: join(dataDir, "hands.sock") },
    token: expect.stringMatching(/^.{43}$/),
    protocol: PROTOCOL_VERSION,
  });
  expect(await modeOf(handsFilePath(dataDir))).toBe(0o600);
  expect(await modeOf(join(dataDir, "hands.sock"))).toBe(0o600);
  expect(await modeOf(join(dataDir, "installation-id"))).toBe(0o600);
});

test("listens on a loopback port where the socket's path would be too long", async () => {
  const dataDir = join(await freshFolder(), "d".repeat(100));
  const { file } = await startHands({ dataDir });
  expect(file.address).toEqual({ type: "port", port: expect.any(Number) });
  expect(await new HandsConnection(file).isAlive()).toBe(true);
});

test("leaves the folder to the hands that have it", async () => {
  const { dataDir, file } = await startHands();
  const second = launch({ dataDir });
  const said = collect(second);
  expect(await exitOf(second)).toBe(HANDS_RUNNING_EXIT_CODE);
  expect(await said).toContain(`Other hands run for ${dataDir} already`);
  expect(await new HandsConnection(file).isAlive()).toBe(true);
});

test("keeps its installation's name and changes its boot and token from life to life", async () => {
  const { dataDir, file, child } = await startHands();
  child.kill("SIGKILL");
  await exitOf(child);
  const next = await startHands({ dataDir }, file.boot);
  expect(next.file.installation_id).toBe(file.installation_id);
  expect(next.file.boot).not.toBe(file.boot);
  expect(next.file.token).not.toBe(file.token);
  expect(await new HandsConnection(file).isAlive()).toBe(false);
});

test("ends orderly when it is told to by a signal, and leaves no trace to be found by", async () => {
  const { dataDir, child } = await startHands();
  child.kill("SIGTERM");
  expect(await exitOf(child)).toBe(0);
  expect(await readHandsFile(dataDir)).toBeUndefined();
  const lock = acquireFileLock(join(dataDir, "hands.lock"));
  expect(lock?.stillHeld()).toBe(true);
  lock?.release();
});

test("ends when it is asked to over the socket, with a call running", async () => {
  const { file, child } = await startHands();
  const connection = new HandsConnection(file);
  await submit(connection, file.boot);
  const answer = await connection.send({ method: "POST", path: "/v1/stop" }, never());
  expect(answer.status).toBe(202);
  expect(await exitOf(child)).toBe(0);
});

test.each(["deleted", "replaced"])("ends when its lock file is %s", async (what) => {
  const { dataDir, child } = await startHands({ times: { lookMs: 20 } });
  const path = join(dataDir, "hands.lock");
  if (what === "deleted") await rm(path);
  else {
    await writeFile(`${path}.new`, "");
    await rename(`${path}.new`, path);
  }
  expect(await exitOf(child)).toBe(0);
});

test("ends when its hands.json is deleted", async () => {
  const { dataDir, child } = await startHands({ times: { lookMs: 20 } });
  await rm(handsFilePath(dataDir));
  expect(await exitOf(child)).toBe(0);
});

test("ends when another boot's hands.json stands there, and leaves that alone", async () => {
  const { dataDir, child, file } = await startHands({ times: { lookMs: 20 } });
  await writeHandsFile(dataDir, { ...file, boot: "boot_other" });
  expect(await exitOf(child)).toBe(0);
  expect(await readHandsFile(dataDir)).toMatchObject({ boot: "boot_other" });
});

test("ends with its data folder", async () => {
  const { dataDir, child } = await startHands({ times: { lookMs: 20 } });
  await rm(dataDir, { recursive: true });
  expect(await exitOf(child)).toBe(0);
});

test("ends when no server speaks for long", async () => {
  const dataDir = await freshFolder();
  // Not looked for before: on a busy machine they may be gone again between two looks.
  const child = launch({ dataDir, times: { lookMs: 20, quietMs: 100 } });
  const said = collect(child);
  expect(await exitOf(child)).toBe(0);
  expect(await said).toMatch(/^started [\s\S]*^ending .*no server/m);
});

test("speaks only to those who have its token and its protocol", async () => {
  const dataDir = join(await freshFolder(), "d".repeat(100));
  const { file } = await startHands({ dataDir });
  const port = file.address.type === "port" ? file.address.port : 0;
  const ask = async (path: string, init: RequestInit = {}) => {
    const headers = {
      authorization: `Bearer ${file.token}`,
      "drover-hands-protocol": String(PROTOCOL_VERSION),
    };
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      ...init,
      headers: { ...headers, ...(init.headers as Record<string, string>) },
    });
    const body = await response.text();
    return [response.status, body === "" ? undefined : JSON.parse(body).reason];
  };
  const put = (body: unknown) => ({ method: "PUT", body: JSON.stringify(body) });
  expect(await ask("/v1/boot")).toEqual([200, undefined]);
  expect(await ask("/v1/boot", { headers: { authorization: "" } })).toEqual([401, "token"]);
  expect(await ask("/v1/boot", { headers: { authorization: "Bearer x" } })).toEqual([401, "token"]);
  expect(await ask("/v1/boot", { headers: { "drover-hands-protocol": "1" } })).toEqual([
    400,
    "protocol",
  ]);
  expect(await ask("/v2/boot")).toEqual([404, "route"]);
  expect(await ask("/v1/calls/%zz")).toEqual([400, "invalid"]);
  expect(await ask("/v1/calls/sevt_1")).toEqual([404, "unknown_call"]);
  expect(await ask("/v1/calls/sevt_1", put({ callId: "sevt_1" }))).toEqual([400, "invalid"]);
  expect(await ask("/v1/calls/sevt_2", put(makeCall({ handsBoot: file.boot })))).toEqual([
    400,
    "invalid",
  ]);
  expect(await ask("/v1/calls/sevt_1", put(makeCall()))).toEqual([409, "foreign_boot"]);
  const { installation_id } = JSON.parse(await readFile(handsFilePath(dataDir), "utf8"));
  const earlier = makeCall({ handsBoot: bootId("boot_0", installation_id) });
  expect(await ask("/v1/calls/sevt_1", put(earlier))).toEqual([409, "stale_boot"]);
  expect(await ask("/v1/calls/sevt_1", { method: "PUT", body: "{" })).toEqual([400, "invalid"]);
});

test("takes no request beyond its size", async () => {
  const { file } = await startHands();
  const connection = new HandsConnection(file);
  const input = { mark: "x".repeat(33 * 1024 * 1024) };
  const call = makeCall({ handsBoot: file.boot, name: "mark", input });
  const sent = connection.send({ method: "PUT", path: "/v1/calls/sevt_1", body: call }, never());
  // The line is cut while the body is on its way, so the answer may not be seen.
  const outcome = await sent.then(
    ({ status }) => status,
    () => 413,
  );
  expect(outcome).toBe(413);
  expect(await connection.isAlive()).toBe(true);
  const unknown = await connection.send({ method: "GET", path: "/v1/calls/sevt_1" }, never());
  expect(unknown.status).toBe(404);
});

test("shows what a running call has written so far", async () => {
  const { file } = await startHands();
  const connection = new HandsConnection(file);
  await submit(connection, file.boot);
  const output = async (from: number) => {
    const path = `/v1/calls/sevt_1/output?from=${from}`;
    return (await connection.send({ method: "GET", path }, never())).body;
  };
  const begun = Buffer.from("begun endless\n");
  const expected = { data: begun.toString("base64"), start: 0, total: begun.byteLength };
  await expect.poll(() => output(0)).toEqual(expected);
  expect(await output(6)).toEqual({
    data: begun.subarray(6).toString("base64"),
    start: 6,
    total: begun.byteLength,
  });
});

test("waits no longer than asked for a call to end", async () => {
  const { file } = await startHands();
  const connection = new HandsConnection(file);
  await submit(connection, file.boot);
  const path = "/v1/calls/sevt_1?wait_ms=20";
  const answer = await connection.send({ method: "GET", path }, never());
  expect(answer).toEqual({ status: 200, body: { state: "running" } });
});

test("stands what a broken client sends", async () => {
  const { file } = await startHands();
  const { address } = file;
  const socket = createConnection(address.type === "socket" ? address.path : "");
  socket.on("error", () => {});
  const cut = [
    "PUT /v1/calls/sevt_1 HTTP/1.1",
    "host: hands",
    `authorization: Bearer ${file.token}`,
    `drover-hands-protocol: ${PROTOCOL_VERSION}`,
    "content-length: 100",
    "",
    '{"half":',
  ].join("\r\n");
  await new Promise<void>((resolve) => socket.end(cut, resolve));
  await once(socket.resume(), "close");
  expect(await new HandsConnection(file).isAlive()).toBe(true);
});

async function startHands(options: Partial<MarkingHandsOptions> = {}, bootBefore?: string) {
  const dataDir = options.dataDir ?? (await freshFolder());
  const child = launch({ ...options, dataDir });
  const published = async () => {
    const file = await readHandsFile(dataDir);
    return file?.boot === bootBefore ? undefined : file;
  };
  await expect.poll(published, { timeout: 20_000 }).toBeDefined();
  return { dataDir, child, file: (await published()) as HandsFile };
}

function launch(options: MarkingHandsOptions): ChildProcess {
  const child = spawn(process.execPath, markingHandsArgs(options), {
    stdio: ["ignore", "ignore", "pipe"],
  });
  child.stderr?.resume();
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  });
  return child;
}

async function submit(connection: HandsConnection, boot: string): Promise<void> {
  const call = makeCall({ handsBoot: boot, name: "mark", input: { mark: "endless", waits: true } });
  const path = "/v1/calls/sevt_1";
  const answer = await connection.send({ method: "PUT", path, body: call }, never());
  expect(answer.status).toBe(200);
}

async function collect(child: ChildProcess): Promise<string> {
  let text = "";
  for await (const chunk of child.stderr ?? []) text += chunk;
  return text;
}

async function exitOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode;
}

async function freshFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "drover-hands-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777;
}

function never(): AbortSignal {
  return new AbortController().signal;
}
