import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createConnection, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where PostgreSQL's clients expect a server's socket in a folder. */
const SOCKET = ".s.PGSQL.5432";

export interface CuttingProxy extends AsyncDisposable {
  /** As the given URL, by way of the proxy. */
  readonly url: string;
  /**
   * Cuts the first connection on which a message with this text goes to the server: before it gets
   * there, or after the server has answered it, with the answer held back.
   */
  cutAt(text: string, when: "before" | "after"): void;
  /** How many connections were cut. */
  cuts(): number;
  /** Cuts every connection there is now. */
  cutAll(): void;
  /** While it is closed, no connection can be made. */
  close(): Promise<void>;
  reopen(): Promise<void>;
}

/** Stands between a client and the PostgreSQL server of a URL with a socket folder. */
export async function openCuttingProxy(url: string): Promise<CuttingProxy> {
  const folder = mkdtempSync(join(tmpdir(), "drover-proxy-"));
  const own = new URL(url);
  const target = join(own.searchParams.get("host") ?? "", SOCKET);
  own.searchParams.set("host", folder);
  const clients = new Set<Socket>();
  let cut: { text: string; when: "before" | "after" } | undefined;
  let count = 0;
  const server = createServer((client) => {
    const upstream = createConnection(target);
    let isHeldBack = false;
    const end = () => {
      clients.delete(client);
      client.destroy();
      upstream.destroy();
    };
    clients.add(client);
    for (const socket of [client, upstream]) socket.on("error", end).on("close", end);
    upstream.on("data", (chunk) => {
      if (!isHeldBack) client.write(chunk);
      else end();
    });
    client.on("data", (chunk) => {
      if (cut !== undefined && chunk.includes(cut.text)) {
        count += 1;
        const { when } = cut;
        cut = undefined;
        if (when === "before") return end();
        isHeldBack = true;
      }
      upstream.write(chunk);
    });
  });
  const listen = async () => {
    server.listen(join(folder, SOCKET));
    await once(server, "listening");
  };
  const cutAll = () => {
    for (const client of clients) client.destroy();
  };
  const close = async () => {
    const closed = once(server, "close");
    server.close();
    cutAll();
    await closed;
  };
  await listen();
  return {
    url: own.href,
    cutAt: (text, when) => {
      cut = { text, when };
    },
    cuts: () => count,
    cutAll,
    close,
    reopen: listen,
    [Symbol.asyncDispose]: async () => {
      if (server.listening) await close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
