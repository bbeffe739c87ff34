import { Agent, type IncomingHttpHeaders, request } from "node:http";
import type { World } from "./world.ts";

export interface WireRequest {
  readonly method: string;
  /** As it is to stand in the request line. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. */
  readonly body?: string | Uint8Array | object | undefined;
}

export interface WireAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

const agent = new Agent({ keepAlive: true, maxSockets: 8 });

/** One request as it is, without anything a client library would mend. A stream is cut off at once. */
export async function send(world: World, wire: WireRequest): Promise<WireAnswer> {
  const body = isRaw(wire.body) ? wire.body : JSON.stringify(wire.body);
  const headers = {
    authorization: `Bearer ${world.apiKey}`,
    ...(body !== undefined && {
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(body)),
    }),
    ...wire.headers,
  };
  const { hostname, port } = new URL(world.url);
  const { method, path } = wire;
  return await new Promise((resolve, reject) => {
    const asked = request({ hostname, port, method, path, headers, agent }, (answer) => {
      const { statusCode: status = 0 } = answer;
      const chunks: Buffer[] = [];
      const done = () =>
        resolve({ status, headers: answer.headers, text: Buffer.concat(chunks).toString() });
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.once("end", done);
      answer.once("error", reject);
      if (answer.headers["content-type"]?.startsWith("text/event-stream") !== true) return;
      answer.off("error", reject).on("error", () => undefined);
      done();
      asked.destroy();
    });
    asked.once("error", reject);
    asked.end(body);
  });
}

/** What an error answer says. */
export function errorOf(answer: WireAnswer): { type: string; message: string } {
  return JSON.parse(answer.text).error;
}

function isRaw(body: WireRequest["body"]): body is string | Uint8Array | undefined {
  return body === undefined || typeof body === "string" || body instanceof Uint8Array;
}
