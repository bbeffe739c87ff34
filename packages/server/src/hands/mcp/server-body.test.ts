import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { serverBody } from "./server-body.ts";

const LIMITS = { messageBytesMax: 10, streamBytesMax: 40 };

function read(type: string, ...chunks: readonly string[]) {
  const source = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
  const response = Object.assign(source, { headers: { "content-type": type } });
  let ends = 0;
  // Of a response nothing else is looked at.
  const body = serverBody(response as unknown as IncomingMessage, LIMITS, () => ends++);
  return new Response(body).text().then(
    (text) => ({ text, ends }),
    (error: Error) => ({ error: error.message, ends }),
  );
}

test("a body is read up to its limit", async () => {
  expect(await read("application/json", "12345", "67890")).toEqual({ text: "1234567890", ends: 1 });
  expect(await read("application/json", "12345", "678901")).toMatchObject({
    error: "a message of over 10 bytes",
  });
});

test.each([
  ["one after another", ["12345\n\n", "67890\n\n"]],
  ["cut anywhere", ["123", "45\n", "\n678", "90\n", "\n"]],
  ["with other ends of lines", ["12345\r\n\r", "\n67890\r\n\r\n"]],
])("events of a stream have a limit each: %s", async (_, chunks) => {
  expect(await read("text/event-stream", ...chunks)).toMatchObject({ text: chunks.join("") });
});

test("an event without an end, and a stream without one, are cut off", async () => {
  expect(await read("text/event-stream; charset=utf-8", "12345\n", "67890\n")).toMatchObject({
    error: "a message of over 10 bytes",
  });
  const many = Array.from({ length: 20 }, () => "1\n\n");
  expect(await read("text/event-stream", ...many)).toMatchObject({
    error: "a stream of over 40 bytes",
  });
});
