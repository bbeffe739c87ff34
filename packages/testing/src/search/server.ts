import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type FoundPage,
  SEARCH_FLAVOURS,
  type SearchFlavour,
  type SearchSeen,
} from "./flavours.ts";

export interface SearchProvider extends AsyncDisposable {
  /** As `DROVER_SEARCH_URL` takes it. */
  readonly url: string;
  readonly key: string;
  readonly seen: readonly SearchSeen[];
  /** What was wrong with requests, as the real service would see it. */
  readonly problems: readonly string[];
  /** What every search finds. */
  found: readonly FoundPage[];
  /** Answers instead of the double; false leaves it to it. */
  override: ((seen: SearchSeen, response: ServerResponse) => boolean) | undefined;
  readonly queryOf: (seen: SearchSeen) => string;
}

/** A strict double of a search provider on loopback: a request that the real one refuses is refused. */
export async function startSearchProvider(name: SearchFlavour): Promise<SearchProvider> {
  const flavour = SEARCH_FLAVOURS[name];
  const key = `key-of-${name}-canary-0123456789`;
  const seen: SearchSeen[] = [];
  const problems: string[] = [];
  const world = {
    found: [] as readonly FoundPage[],
    override: undefined as SearchProvider["override"],
  };
  const server = createServer((request, response) => {
    void (async () => {
      const { method = "", headers } = request;
      const url = new URL(request.url ?? "/", "http://provider");
      const arrived = { method, url, headers, body: await textOf(request) };
      seen.push(arrived);
      if (world.override?.(arrived, response) === true) return;
      const wrong = flavour.problems(arrived, key);
      problems.push(...wrong);
      if (wrong.length > 0) return sendJson(response, 422, { detail: wrong });
      if (flavour.keyOf(arrived) !== key) return sendJson(response, 401, { detail: "no such key" });
      sendJson(response, 200, flavour.answer(world.found));
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(world, {
    url: `http://127.0.0.1:${port}${name === "brave" ? "/res/v1/web/search" : ""}`,
    key,
    seen,
    problems,
    queryOf: flavour.queryOf,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
}
