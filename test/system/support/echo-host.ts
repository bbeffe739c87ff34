import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { CERTIFICATE, CERTIFICATE_KEY } from "@drover/testing";

/** A host on loopback that says everything back that it gets, with and without TLS; `/split` byte by byte, `/gzip` packed. */
export class EchoHost implements AsyncDisposable {
  /** What arrived: the line, the headers and the body of each request. */
  readonly seen: string[] = [];
  readonly #plain: Server;
  readonly #secure: Server;

  private constructor() {
    const answer: RequestListener = async (request, response) => {
      const text = await textOf(request);
      this.seen.push(text);
      response.setHeader("x-echo", request.headers["x-key"] ?? "nothing");
      if (request.url === "/gzip") {
        response.setHeader("content-encoding", "gzip");
        response.end(gzipSync(text));
      } else if (request.url === "/split") {
        for (const byte of Buffer.from(text)) {
          await new Promise((written) => response.write(Buffer.of(byte), written));
        }
        response.end();
      } else if (request.url === "/error") {
        response.writeHead(500).end(text);
      } else {
        response.end(text);
      }
    };
    this.#plain = createServer(answer);
    this.#secure = createSecureServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY }, answer);
  }

  static async start(): Promise<EchoHost> {
    const host = new EchoHost();
    for (const server of [host.#plain, host.#secure]) {
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    }
    return host;
  }

  /** `https://echo.localhost:…`, which is this host by the machine's own name for loopback. */
  get secure(): string {
    return `https://echo.localhost:${portOf(this.#secure)}`;
  }

  plain(name = "echo.localhost"): string {
    return `http://${name}:${portOf(this.#plain)}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of [this.#plain, this.#secure]) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const { method, url, rawHeaders } = request;
  const pairs: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    pairs.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  }
  let body = "";
  for await (const chunk of request) body += String(chunk);
  return [`${method} ${url}`, ...pairs, "", body, ""].join("\n");
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
