import { type IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { type Duplex, pipeline } from "node:stream";
import { SweepStream } from "../../sweep/sweep-stream.ts";
import { type ExchangePlace, exchange, prepare, reasonOf } from "./exchange.ts";
import type { Headers } from "./header-secrets.ts";
import { endToEnd, without } from "./http-headers.ts";
import { masked } from "./pass-answer.ts";
import type { Upgraded } from "./upstream.ts";

export interface UpgradeGiven {
  readonly asked: IncomingMessage;
  readonly client: Duplex;
  /** What came right behind the request. */
  readonly head: Buffer;
  readonly idleMs: number;
}

export function isWebSocket({ headers }: IncomingMessage): boolean {
  return (headers.upgrade ?? "").toLowerCase() === "websocket";
}

/** Another protocol over the same connection. What comes back over it is looked through. Never rejects. */
export async function passUpgrade(given: UpgradeGiven, place: ExchangePlace): Promise<void> {
  const { asked, client, head } = given;
  client.on("error", () => client.destroy());
  const { "content-length": length = "0", "transfer-encoding": coding } = asked.headers;
  // By now it is taken for what comes after the request, and would have to be read by hand.
  if (length !== "0" || coding !== undefined) {
    return void client.end(
      answerText(501, "A body cannot come with an offer to change the protocol."),
    );
  }
  if (!isWebSocket(asked)) return await withoutUpgrade(given, place);
  const gone = new AbortController();
  client.once("close", () => gone.abort());
  try {
    const { request } = await prepare(asked, place, gone.signal);
    const headers: Headers = [
      // Nothing could be found in what is compressed.
      ...without(request.headers, "sec-websocket-extensions", "accept-encoding"),
      ["connection", "Upgrade"],
      ["upgrade", "websocket"],
    ];
    const upgraded = await place.upstream.upgrade(
      { ...request, headers, body: undefined },
      gone.signal,
    );
    join(upgraded, given, place);
    if (head.length > 0 && upgraded.type === "switched") upgraded.socket.write(head);
  } catch (error) {
    client.end(answerText(502, place.known.mask.text(reasonOf(error))));
  }
}

/** A server may take no notice of what it is offered, and so does this one. */
async function withoutUpgrade(
  { asked, client }: UpgradeGiven,
  place: ExchangePlace,
): Promise<void> {
  if (!(client instanceof Socket)) throw new Error("a connection that is no socket");
  const response = new ServerResponse(asked);
  response.shouldKeepAlive = false;
  response.assignSocket(client);
  response.once("finish", () => client.end());
  await exchange(asked, response, place);
}

function join(upgraded: Upgraded, { client, idleMs }: UpgradeGiven, place: ExchangePlace): void {
  const { known } = place;
  if (upgraded.type === "answered") {
    const { status, headers, body } = upgraded.answer;
    const kept = without(endToEnd(headers), "content-length");
    client.write(headText(status, [...masked(kept, known), ["connection", "close"]]));
    pipeline(body, new SweepStream(known), client, () => client.destroy());
    return;
  }
  const { socket, headers, head } = upgraded;
  const agreed = without(endToEnd(headers), "sec-websocket-extensions");
  client.write(
    headText(101, [...masked(agreed, known), ["connection", "Upgrade"], ["upgrade", "websocket"]]),
  );
  const end = () => {
    client.destroy();
    socket.destroy();
  };
  for (const side of [client, socket]) {
    // Two pipelines listen to each, several times; there are no others.
    side.setMaxListeners(0);
    side.once("close", end);
    if (side instanceof Socket) side.setTimeout(idleMs, end);
  }
  const back = new SweepStream(known);
  if (head.length > 0) back.write(head);
  pipeline(socket, back, client, () => undefined);
  pipeline(client, socket, () => undefined);
}

function headText(status: number, headers: Headers): string {
  const words = status === 101 ? "Switching Protocols" : "Answer";
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${words}`, ...lines, "", ""].join("\r\n");
}

function answerText(status: number, sentence: string): string {
  const headers: Headers = [
    ["content-type", "text/plain"],
    ["connection", "close"],
  ];
  return `${headText(status, headers)}${sentence}\n`;
}
