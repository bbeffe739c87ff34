import { type ClientRequest, createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** One address in front of several servers: each request goes to the next one in turn. */
export class Alternating {
  readonly url: string;
  readonly #server: Server;

  private constructor(server: Server) {
    const { port } = server.address() as AddressInfo;
    this.url = `http://127.0.0.1:${port}`;
    this.#server = server;
  }

  static async open(targets: readonly string[]): Promise<Alternating> {
    let turn = 0;
    // Longer than clients keep a connection that they may use again.
    const server = createServer({ keepAliveTimeout: 120_000 }, (incoming, answer) => {
      const target = new URL(targets[turn % targets.length] ?? "");
      turn += 1;
      const outgoing: ClientRequest = request({
        hostname: target.hostname,
        port: target.port,
        method: incoming.method,
        path: incoming.url,
        headers: incoming.headers,
        // A kept connection may be closed by the server just as it is used again.
        agent: false,
      });
      outgoing.on("response", (response) => {
        answer.writeHead(response.statusCode ?? 502, response.rawHeaders);
        answer.flushHeaders();
        response.pipe(answer);
        response.on("error", () => answer.destroy());
      });
      outgoing.on("error", () => answer.destroy());
      answer.on("close", () => outgoing.destroy());
      incoming.pipe(outgoing);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    return new Alternating(server);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
