import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { SandboxGate } from "../../core/ports/sandbox.ts";
import type { WayOut } from "./way-out.ts";

/** Answers the requests of a sandbox that may speak to one gate and to nobody else. */
export function gateListener(wayOut: WayOut, gate: SandboxGate): Server {
  // A body may take long; a connection over which nothing goes is ended.
  const server = createServer({ requestTimeout: 0, noDelay: true });
  wayOut.watch(server);
  server.timeout = wayOut.limits.idleMs;
  server.on("connection", (socket) => wayOut.entered(socket));
  server.on("connect", (_asked, stream) => stream.destroy());
  server.on("request", (asked, response) => {
    wayOut.serve(asked.socket, () => answer(gate, asked, response));
  });
  server.on("clientError", (_error, socket) => socket.destroy());
  return server;
}

async function answer(
  gate: SandboxGate,
  asked: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const { method = "", url: path = "/" } = asked;
  try {
    const request = { method, path, headers: headersOf(asked), body: asked };
    const { status, headers, body } = await gate(request, gone.signal);
    response.writeHead(status, headers);
    await pipeline(body, response);
  } catch {
    // Why is the gate's to know; to the program inside it is nothing but an answer that does not come.
    if (response.headersSent) response.destroy();
    else response.writeHead(502, { connection: "close" }).end();
  } finally {
    gone.abort();
    asked.resume();
  }
}

function headersOf({ headers }: IncomingMessage): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => {
      const last = Array.isArray(value) ? value.at(-1) : value;
      return last === undefined ? [] : [[name, last]];
    }),
  );
}
