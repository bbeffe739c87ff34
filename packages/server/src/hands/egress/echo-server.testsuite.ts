import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from "node:http2";
import { createServer as createHttpsServer, type Server as SecureServer } from "node:https";
import type { Duplex, Writable } from "node:stream";
import { brotliCompressSync, gzipSync } from "node:zlib";

/** What a server got. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly version: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
  readonly trailers: Readonly<Record<string, unknown>>;
}

type Asked = IncomingMessage | Http2ServerRequest;
type Response = ServerResponse | Http2ServerResponse;

const WEBSOCKET = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** A server that writes down what it gets and says it back, in whatever way it is asked to. */
export class EchoServer {
  readonly seen: Seen[] = [];

  get last(): Seen {
    const last = this.seen.at(-1);
    if (last === undefined) throw new Error("nobody asked");
    return last;
  }

  plain(): Server {
    const server = createServer((asked, response) => void this.#answer(asked, response));
    server.on("upgrade", (asked, socket) => this.#upgrade(asked, socket));
    return server;
  }

  secure(
    identity: { readonly cert: string; readonly key: string },
    { http2 = true }: { readonly http2?: boolean } = {},
  ): Http2SecureServer | SecureServer {
    const server = http2
      ? createSecureServer({ ...identity, allowHTTP1: true })
      : createHttpsServer(identity);
    server.on("request", (asked, response) => void this.#answer(asked, response));
    server.on("upgrade", (asked, socket) => this.#upgrade(asked, socket));
    return server;
  }

  async #answer(asked: Asked, response: Response): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of asked) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    this.seen.push({
      method: asked.method ?? "",
      path: asked.url ?? "",
      version: asked.httpVersion,
      headers: { ...asked.headers },
      body: body.toString("utf8"),
      trailers: { ...asked.trailers },
    });
    const stream: Writable = response;
    const [path = ""] = (asked.url ?? "").split("?");
    const said = Buffer.from(JSON.stringify(this.last));
    const set = (name: string, value: string) => void response.setHeader(name, value);
    switch (path) {
      case "/gzip":
        set("content-encoding", "gzip");
        return void response.end(gzipSync(said));
      case "/br":
        set("content-encoding", "br");
        return void response.end(brotliCompressSync(said));
      case "/odd":
        set("content-encoding", "compress");
        return void response.end(said);
      case "/header":
        set("x-echo", String(asked.headers["x-key"]));
        return void response.end("in the header");
      case "/bytes":
        return await byteByByte(body, response);
      case "/trailers":
        set("trailer", "x-last");
        stream.write("body");
        response.addTrailers({ "x-last": `told ${asked.headers["x-key"]}` });
        return void response.end();
      default:
        set("content-length", String(said.length));
        return void response.end(said);
    }
  }

  /** Says the header `x-key` in a frame that comes in two parts, then each text that it gets. */
  #upgrade(asked: IncomingMessage, socket: Duplex): void {
    this.seen.push({
      ...{ method: "GET", path: asked.url ?? "", version: asked.httpVersion, body: "" },
      headers: { ...asked.headers },
      trailers: {},
    });
    const accept = createHash("sha1")
      .update(`${asked.headers["sec-websocket-key"]}${WEBSOCKET}`)
      .digest("base64");
    socket.on("error", () => socket.destroy());
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    const greeting = frame(`key ${asked.headers["x-key"]}`);
    const middle = Math.floor(greeting.length / 2);
    socket.write(greeting.subarray(0, middle), () => socket.write(greeting.subarray(middle)));
    socket.on("data", (bytes: Buffer) => {
      const length = (bytes[1] ?? 0) & 0x7f;
      const mask = bytes.subarray(2, 6);
      const text = bytes.subarray(6, 6 + length).map((byte, at) => byte ^ (mask[at % 4] ?? 0));
      socket.write(frame(`said ${Buffer.from(text).toString("utf8")}`));
    });
  }
}

async function byteByByte(body: Buffer, response: Writable): Promise<void> {
  for (const byte of body) {
    await new Promise<void>((resolve) => {
      response.write(Buffer.from([byte]), () => setImmediate(resolve));
    });
  }
  response.end();
}

function frame(text: string): Buffer {
  const payload = Buffer.from(text, "utf8");
  if (payload.length > 125) throw new Error("a frame of this server is short");
  return Buffer.concat([Buffer.from([0x81, payload.length]), payload]);
}
