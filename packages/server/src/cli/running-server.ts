import type { Page } from "@drover/api";
import { z } from "zod";
import type { Config } from "../config.ts";
import { OperatorError } from "../lib/operator-error.ts";
import { apiKeyFor } from "./api-key.ts";
import { findServer } from "./server-file.ts";

/** The API of the server that runs on the data folder, with the folder's own key. */
export interface RunningServer {
  /** Every page of a list, which has no query of its own but `query`. */
  list<T>(path: string, query?: Readonly<Record<string, string | undefined>>): Promise<T[]>;
  post<T>(path: string, body?: unknown): Promise<T>;
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
  const send = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json();
    if (response.ok) return answer as T;
    const refusal = Refusal.safeParse(answer);
    const sentence = refusal.success ? refusal.data.error.message : `status ${response.status}`;
    throw new OperatorError(`The server refused: ${sentence}`);
  };
  return {
    post: (path, body) => send("POST", path, body),
    list: async <T>(path: string, query: Readonly<Record<string, string | undefined>> = {}) => {
      const items: T[] = [];
      const given = Object.entries(query).filter(([, value]) => value !== undefined);
      for (let page: string | null = ""; page !== null; ) {
        const search = new URLSearchParams([...(given as [string, string][]), ["page", page]]);
        const answer: Page<T> = await send("GET", `${path}?${search}`);
        items.push(...answer.data);
        page = answer.next_page;
      }
      return items;
    },
  };
}
