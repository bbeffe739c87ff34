import { type ChildProcess, spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(
  import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"),
);

export interface EverythingServer extends AsyncDisposable {
  /** Of the MCP endpoint, on loopback. */
  readonly url: string;
}

/** The reference server `@modelcontextprotocol/server-everything` as it is published, in a process of its own. */
export async function startEverything(
  transport: "streamableHttp" | "sse" = "streamableHttp",
): Promise<EverythingServer> {
  const port = await freePort();
  const child = spawn(process.execPath, [PROGRAM, transport], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { PATH: "/usr/bin:/bin", PORT: String(port) },
  });
  await listening(child);
  return {
    url: `http://127.0.0.1:${port}/${transport === "sse" ? "sse" : "mcp"}`,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await gone;
    },
  };
}

async function listening(child: ChildProcess): Promise<void> {
  const said: string[] = [];
  await new Promise<void>((resolve, reject) => {
    child.once("exit", () => reject(new Error(`the server ended: ${said.join("")}`)));
    child.stderr?.on("data", (chunk) => {
      said.push(String(chunk));
      if (/ port \d+/.test(said.join(""))) resolve();
    });
  });
}

/** It takes no other word for one than a number. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
