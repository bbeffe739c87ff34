import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const MAIN = fileURLToPath(new URL("./main.ts", import.meta.url));

test("the double runs as a process of its own until its parent lets go", async () => {
  const child = spawn(
    process.execPath,
    ["--conditions=drover-source", MAIN, JSON.stringify({ apiKey: "key", untilStdinEnds: true })],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  const exited = once(child, "exit");
  try {
    const [line] = await once(createInterface(child.stdout), "line");
    const { url, apiKey } = JSON.parse(line);
    expect(apiKey).toBe("key");
    const response = await fetch(`${url}/v1/models`);
    expect(response.status).toBe(200);
    child.stdin.end();
    expect(await exited).toEqual([0, null]);
  } finally {
    child.kill("SIGKILL");
  }
});
