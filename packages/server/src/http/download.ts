import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { AppContext } from "./context.ts";

export interface Download {
  readonly filename: string;
  readonly mime_type: string;
  /** Undefined if it is known only at the end. */
  readonly size_bytes: number | undefined;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/**
 * Streams a file's content. What an agent made is nobody's page: browsers are told to save it and to
 * run nothing of it.
 */
export async function respondWithBytes(
  c: AppContext,
  { filename, mime_type, size_bytes, bytes }: Download,
): Promise<Response> {
  const headers = {
    "content-type": mime_type,
    ...(size_bytes !== undefined && { "content-length": String(size_bytes) }),
    "content-disposition": `attachment; filename*=UTF-8''${encodeRfc5987(filename)}`,
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
