/** A server with TLS for the measurement of what is read on its way: it answers a request at once, or with many bytes. */
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";

export interface DownloadIdentity {
  readonly cert: string;
  readonly key: string;
}

export interface DownloadReady {
  readonly port: number;
}

const CHUNK = Buffer.alloc(64 * 1024, "what is said to everybody, and holds no secret. ");

process.once("message", (identity: DownloadIdentity) => {
  const server = createServer({ ...identity, keepAliveTimeout: 600_000 }, (request, response) => {
    request.resume();
    const size = Number(new URL(request.url ?? "/", "https://x.test").searchParams.get("bytes"));
    response.setHeader("content-length", String(size));
    let left = size;
    const go = () => {
      while (left > 0) {
        const piece = CHUNK.subarray(0, Math.min(left, CHUNK.length));
        left -= piece.length;
        if (!response.write(piece)) return void response.once("drain", go);
      }
      response.end();
    };
    go();
  });
  server.listen(0, "127.0.0.1", () => {
    process.send?.({ port: (server.address() as AddressInfo).port } satisfies DownloadReady);
  });
});
process.once("disconnect", () => process.exit(0));
