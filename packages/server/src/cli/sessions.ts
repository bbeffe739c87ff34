import { createReadStream, createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Session, SessionForkParams, SessionHand } from "@drover/api";
import { OperatorError } from "../lib/operator-error.ts";
import type { RunningServer } from "./running-server.ts";

const SESSIONS = "/v1/drover/sessions";

/** Writes the session's file to `out`, whole or not at all, or to the given stream as it comes. */
export async function exportSession(
  server: RunningServer,
  id: string,
  out: string | Writable,
): Promise<void> {
  const { body } = await server.request("GET", `${pathOf(id)}/export`);
  const target = typeof out === "string" ? createWriteStream(`${out}.part`) : out;
  try {
    // The standard output stays open: the sentence of a failure follows.
    await pipeline(Readable.fromWeb(bodyOf(body)), target, { end: typeof out === "string" });
    if (typeof out === "string") await rename(`${out}.part`, out);
  } catch (cause) {
    if (typeof out === "string") await rm(`${out}.part`, { force: true });
    throw new OperatorError(
      `The export of ${id} was cut off, and what came of it cannot be imported; try again.`,
      { cause },
    );
  }
}

interface ImportRequest {
  readonly environment?: string | undefined;
  readonly newIds: boolean;
  readonly workspace?: string | undefined;
}

/** Gives the session's id. `file` is a path, or `-` for the standard input. */
export async function importSession(
  server: RunningServer,
  file: string,
  { environment, newIds, workspace }: ImportRequest,
): Promise<string> {
  const query = new URLSearchParams({
    ...(environment !== undefined && { environment_id: environment }),
    ...(newIds && { new_ids: "true" }),
    ...(workspace !== undefined && { workspace }),
  });
  const content = file === "-" ? process.stdin : createReadStream(file);
  const response = await server.request("POST", `${SESSIONS}/import?${query}`, {
    contentType: "application/jsonl",
    body: Readable.toWeb(content) as ReadableStream<Uint8Array>,
  });
  return ((await response.json()) as Session).id;
}

/** Gives the new session's id. */
export async function forkSession(
  server: RunningServer,
  id: string,
  params: SessionForkParams,
): Promise<string> {
  return (await server.post<Session>(`${pathOf(id)}/fork`, params)).id;
}

/** In JSON, after it was passed to the other session if there is one. */
export async function showHand(
  server: RunningServer,
  id: string,
  to: string | undefined,
): Promise<string> {
  const path = `${pathOf(id)}/hand`;
  const hand =
    to === undefined
      ? await (await server.request("GET", path)).json()
      : await server.post<SessionHand>(`${path}/pass`, { to_session_id: to });
  return JSON.stringify(hand, null, 2);
}

export function pathOf(sessionId: string): string {
  return `${SESSIONS}/${encodeURIComponent(sessionId)}`;
}

/** The types of Node and of `fetch` name the same class twice. */
export function bodyOf(body: Response["body"]): Parameters<typeof Readable.fromWeb>[0] {
  if (body === null) throw new Error("the answer has no body");
  return body as Parameters<typeof Readable.fromWeb>[0];
}
