import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { ErrorBody } from "@drover/api";
import { getRequestListener, RequestError } from "@hono/node-server";
import type { Hono } from "hono";
import { Wakeup } from "../lib/wakeup.ts";
import type { AppEnv } from "./context.ts";

/** A reused connection outlives the idle time of the usual proxies. */
const KEEP_ALIVE_MS = 75_000;
/** An upload of 500 MB over a slow line; without an end, silent senders would pile up. */
const REQUEST_MS = 30 * 60_000;
/** What is still being answered may finish for so long; then its connection is cut. */
const CLOSE_GRACE_MS = 5_000;

export interface Listener {
  readonly host: string;
  readonly port: number;
  /** Base URL of the server. */
  readonly url: string;
  /** Takes no more requests, lets those under way end, and resolves when all connections are closed. */
  close(): Promise<void>;
}

/** Serves the app on a port, 0 for any free one. Rejects if it cannot be had. */
export async function listen(
  app: Hono<AppEnv>,
  options: { host: string; port: number },
): Promise<Listener> {
  const fetchListener = getRequestListener(
    (request, env) => app.fetch(request, env as AppEnv["Bindings"]),
    // The process also makes requests of its own; it keeps the platform's classes.
    { overrideGlobalObjects: false, errorHandler: outsideOfApp },
  );
  const answering = new Set<ServerResponse>();
  const drained = new Wakeup();
  const server = createServer(
    { keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: REQUEST_MS },
    (incoming, outgoing) => {
      answering.add(outgoing);
      outgoing.once("close", () => {
        answering.delete(outgoing);
        drained.notify();
      });
      void fetchListener(incoming, outgoing);
    },
  );
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const { address, port, family } = server.address() as AddressInfo;
  return {
    host: address,
    port,
    url: `http://${family === "IPv6" ? `[${address}]` : address}:${port}`,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      const cut = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
      try {
        while (answering.size > 0) await drained.wait();
      } finally {
        clearTimeout(cut);
      }
      // What is left has asked nothing yet, which Node does not count as idle.
      server.closeAllConnections();
      await closed;
    },
  };
}

/** What never reaches the app, such as an address that makes no URL. */
function outsideOfApp(error: unknown): Response {
  const isTheirs = error instanceof RequestError;
  const body: ErrorBody = {
    type: "error",
    request_id: null,
    error: isTheirs
      ? { type: "invalid_request_error", message: "the request is malformed" }
      : { type: "api_error", message: "Internal server error" },
  };
  return Response.json(body, { status: isTheirs ? 400 : 500 });
}
