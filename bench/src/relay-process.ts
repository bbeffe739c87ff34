/**
 * What Drover's cost of a delta is compared with: the least that relays a model's stream. It reads the
 * stream with the same SDK and writes each delta as a frame of server-sent events to one reader. It
 * keeps nothing, knows no sessions and checks nothing.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import Anthropic from "@anthropic-ai/sdk";
import type { MessageCreateParamsStreaming } from "@anthropic-ai/sdk/resources/messages";

export interface RelayReady {
  readonly url: string;
}

const [, , baseURL = "", apiKey = ""] = process.argv;
const client = new Anthropic({ baseURL, apiKey, maxRetries: 0 });

const server = createServer((request, response) => {
  relay(request, response).catch((error: unknown) => response.destroy(asError(error)));
});
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  process.send?.({ url: `http://127.0.0.1:${port}` } satisfies RelayReady);
});
process.once("disconnect", () => process.exit(0));

async function relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body: MessageCreateParamsStreaming = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  for await (const event of await client.messages.create(body)) {
    if (event.type !== "content_block_delta") continue;
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  }
  response.end();
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
