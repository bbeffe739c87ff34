import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Site extends AsyncDisposable {
  at(path: string): string;
  /** Paths that were asked for. */
  readonly visits: readonly string[];
}

/** A web site on this machine; what it answers is up to `visit`. */
export async function openSite(
  visit: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Site> {
  const visits: string[] = [];
  const server = createServer((request, response) => {
    visits.push(request.url ?? "");
    visit(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    at: (path) => `http://127.0.0.1:${port}${path}`,
    visits,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
