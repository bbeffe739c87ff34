import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { createSecureContext, type TLSSocket } from "node:tls";
import type { DestinationGuard } from "../../core/ports/egress.ts";
import { type Connect, connectDirectly, dial } from "../egress/dial.ts";
import { securedUpstream } from "../egress/secured-upstream.ts";

const CONNECT_MS = 10_000;
const HTTPS_PORT = 443;

export interface GitUpstreamOptions {
  /** Judges where the server is. */
  readonly guard: DestinationGuard;
  readonly connect?: Connect;
  /** The certificates to trust instead of those that the system does, as PEM. */
  readonly certificates?: string;
  /** A connection over which nothing comes for so long is given up. */
  readonly silenceMs: number;
}

export interface UpstreamRequest {
  readonly method: "GET" | "POST";
  /** https. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: AsyncIterable<Uint8Array>;
}

/** A server could not be spoken to. The message says why, and holds nothing of the request. */
export class UpstreamError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UpstreamError";
  }
}

/**
 * Asks a git server over TLS, on a connection of its own to exactly the address that was judged. The
 * answer's body is to be read or destroyed. Rejects with `UpstreamError`.
 */
export async function askUpstream(
  asked: UpstreamRequest,
  options: GitUpstreamOptions,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const socket = await secured(asked.url, options);
  const end = () => socket.destroy();
  signal.addEventListener("abort", end, { once: true });
  socket.once("close", () => signal.removeEventListener("abort", end));
  if (signal.aborted) end();
  socket.setTimeout(options.silenceMs, () => {
    socket.destroy(new Error(`nothing came for ${Math.round(options.silenceMs / 1000)} s`));
  });
  try {
    return await responseOf(asked, socket);
  } catch (error) {
    socket.destroy();
    throw new UpstreamError(error instanceof Error ? error.message : String(error));
  }
}

/** Nothing is sent before the certificate was checked. */
async function secured(url: URL, options: GitUpstreamOptions): Promise<TLSSocket> {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = url.port === "" ? HTTPS_PORT : Number(url.port);
  const { guard, connect: connectTo = connectDirectly, certificates } = options;
  const dialled = await dial(host, port, { guard, connect: connectTo, connectMs: CONNECT_MS });
  if (dialled.type !== "connected") throw new UpstreamError(dialled.reason);
  try {
    return await securedUpstream(dialled.socket, {
      ...{ host, protocols: ["http/1.1"], timeoutMs: CONNECT_MS },
      context: certificates === undefined ? undefined : createSecureContext({ ca: certificates }),
    });
  } catch (error) {
    throw new UpstreamError(error instanceof Error ? error.message : String(error));
  }
}

async function responseOf(
  { method, url, headers, body }: UpstreamRequest,
  socket: TLSSocket,
): Promise<IncomingMessage> {
  const response = Promise.withResolvers<IncomingMessage>();
  const sent = request(url, {
    method,
    headers: { ...headers, connection: "close" },
    // Only without an agent, even a false one, is this the connection that is used.
    createConnection: () => socket,
  });
  sent.once("response", response.resolve);
  sent.on("error", response.reject);
  const upload = (async () => {
    for await (const chunk of body ?? []) {
      if (sent.destroyed) return;
      if (!sent.write(chunk)) {
        await Promise.race([once(sent, "drain"), once(sent, "close")]);
      }
    }
    sent.end();
  })();
  upload.catch((error: unknown) => {
    sent.destroy(error instanceof Error ? error : new Error(String(error)));
  });
  return await response.promise;
}

function once(emitter: NodeJS.EventEmitter, event: string): Promise<void> {
  return new Promise((resolve) => {
    emitter.once(event, () => resolve());
  });
}
