import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { FileContent } from "../app/files.ts";
import type { AppContext } from "./context.ts";

/**
 * Streams a file's content. What an agent made is nobody's page: browsers are told to save it and to
 * run nothing of it.
 */
export async function respondWithFile(
  c: AppContext,
  { file, bytes }: FileContent,
): Promise<Response> {
  const headers = {
    "content-type": file.mime_type,
    "content-length": String(file.size_bytes),
    "content-disposition": `attachment; filename*=UTF-8''${encodeRfc5987(file.filename)}`,
    "content-security-policy": "sandbox; default-src 'none'",
    "x-content-type-options": "nosniff",
  };
  const outgoing = c.env?.outgoing;
  if (outgoing === undefined || outgoing.req.method === "HEAD") {
    return c.body(Readable.toWeb(Readable.from(bytes)) as ReadableStream<Uint8Array>, 200, headers);
  }
  outgoing.writeHead(200, {
    ...headers,
    "request-id": c.get("requestId"),
    "anthropic-workspace-id": c.get("principal").workspaceId,
  });
  // The headers are sent: a failure, or a reader that leaves, can only end the connection.
  await pipeline(Readable.from(bytes, { objectMode: false }), outgoing).catch(() =>
    outgoing.destroy(),
  );
  return RESPONSE_ALREADY_SENT;
}

function encodeRfc5987(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
