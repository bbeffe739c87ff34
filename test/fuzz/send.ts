import { Agent, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from "node:http";
import type { FuzzRequest } from "./requests.ts";

export interface FuzzAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** No request takes longer, however busy the machine. */
const HANG_MS = 30_000;

const agent = new Agent({ keepAlive: true, maxSockets: 16 });

/** Sends the request as it is; a stream is left once it is open. Rejects if no answer comes in time. */
export async function send(url: string, fuzz: FuzzRequest, key: string): Promise<FuzzAnswer> {
  const { hostname, port } = new URL(url);
  const { method, path, body } = fuzz;
  const headers = headersOf(fuzz, key);
  return await new Promise((resolve, reject) => {
    const asked = request({ hostname, port, method, path, headers, agent }, (answer) => {
      const { statusCode: status = 0 } = answer;
      const chunks: Buffer[] = [];
      const done = () => {
        resolve({ status, headers: answer.headers, text: Buffer.concat(chunks).toString() });
      };
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.once("end", done);
      answer.once("error", (error) => {
        done();
        reject(error);
      });
      if (answer.headers["content-type"]?.startsWith("text/event-stream") !== true) return;
      done();
      asked.destroy();
    });
    asked.setTimeout(HANG_MS, () => asked.destroy(new Error(`no answer within ${HANG_MS} ms`)));
    asked.once("error", reject);
    asked.end(body);
  });
}

/** The request as a command line, to be sent again. */
export function asCurl(url: string, fuzz: FuzzRequest, key: string): string {
  const headers = Object.entries(headersOf(fuzz, key)).flatMap(([name, values]) =>
    [values].flat().map((value) => `-H ${quoted(`${name}: ${value}`)}`),
  );
  const target = quoted(`${url}${fuzz.path}`);
  const line = `curl -g --path-as-is -X ${fuzz.method} ${headers.join(" ")} ${target}`;
  if (fuzz.body === undefined) return line;
  const base64 = Buffer.from(fuzz.body).toString("base64");
  return `echo ${base64} | base64 -d | ${line} --data-binary @-`;
}

function headersOf({ headers, body }: FuzzRequest, key: string): OutgoingHttpHeaders {
  const all: Record<string, string[]> = {};
  if (key !== "") all["authorization"] = [`Bearer ${key}`];
  if (body !== undefined) all["content-length"] = [String(body.byteLength)];
  const names = new Set<string>();
  for (const [name, value] of headers) {
    // The request's own come before, and a second of the same name is sent as a second.
    if (name === "authorization" || name === "content-type") all[name] = [value];
    else all[name] = [...(names.has(name) ? (all[name] ?? []) : []), value];
    names.add(name);
  }
  return Object.fromEntries(
    Object.entries(all).map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  );
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
