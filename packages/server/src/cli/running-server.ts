import type { Page } from "@drover/api";
import { z } from "zod";
import type { Config } from "../config.ts";
import { OperatorError } from "../lib/operator-error.ts";
import { apiKeyFor } from "./api-key.ts";
import { findServer } from "./server-file.ts";

/** The API of the server that runs on the data folder, with the folder's own key. */
export interface RunningServer {
  /** Every page of a list, which has no query of its own but `query`. */
  list<T>(path: string, query?: Query): Promise<T[]>;
  /** The same, one page after another, for what may be too much at once. */
  pages<T>(path: string, query?: Query): AsyncIterable<readonly T[]>;
  post<T>(path: string, body?: unknown): Promise<T>;
  /** The answer of a success, its body still to be read. */
  request(method: "GET" | "POST", path: string, content?: Content): Promise<Response>;
}

type Query = Readonly<Record<string, string | undefined>>;

interface Content {
  readonly contentType: string;
  readonly body: string | ReadableStream<Uint8Array>;
}

const Refusal = z.object({ error: z.object({ message: z.string() }) });

/** Rejects with an `OperatorError` if none runs; its methods do so with what the server refuses. */
export async function reachServer(config: Config): Promise<RunningServer> {
  const server = await findServer(config.data);
  if (server === undefined) {
    throw new OperatorError(
      `No server is running on the data folder ${config.data}; start it with \`drover serve\`.`,
    );
  }
  const key = apiKeyFor(config).reveal();
  const request: RunningServer["request"] = async (method, path, content) => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": content?.contentType ?? "application/json",
      },
      // A body that is read while it is sent is half of a conversation, says the standard.
      ...(content !== undefined && { body: content.body, duplex: "half" }),
    });
    if (response.ok) return response;
    const refusal = Refusal.safeParse(await response.json());
    const sentence = refusal.success ? refusal.data.error.message : `status ${response.status}`;
    throw new OperatorError(`The server refused: ${sentence}`);
  };
  const send = async <T>(method: "GET" | "POST", path: string, body?: unknown): Promise<T> => {
    const content = { contentType: "application/json", body: JSON.stringify(body) };
    const response = await request(method, path, body === undefined ? undefined : content);
    // What the server's own API answers is of the shape that its schema says.
    return (await response.json()) as T;
  };
  const pages = async function* <T>(path: string, query: Query = {}) {
    const given = Object.entries(query).filter(([, value]) => value !== undefined);
    for (let page: string | null = ""; page !== null; ) {
      const search = new URLSearchParams([...(given as [string, string][]), ["page", page]]);
      const answer: Page<T> = await send("GET", `${path}?${search}`);
      yield answer.data;
      page = answer.next_page;
    }
  };
  return {
    request,
    post: (path, body) => send("POST", path, body),
    pages,
    list: async <T>(path: string, query: Query = {}) => {
      const items: T[] = [];
      for await (const page of pages<T>(path, query)) items.push(...page);
      return items;
    },
  };
}
