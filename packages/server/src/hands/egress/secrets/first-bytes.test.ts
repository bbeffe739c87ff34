import { expect, test } from "vitest";
import { spokenBy } from "./first-bytes.ts";

test.each([
  ["", undefined],
  ["\x16", undefined],
  ["\x16\x03", undefined],
  ["\x16\x03\x01\x00\x02\x01", undefined],
  ["\x16\x03\x01\x00\x02\x01\x00", "tls"],
  ["\x16\x02", "other"],
  ["G", undefined],
  ["GET", undefined],
  ["GET ", undefined],
  ["GET /", "http"],
  ["POST http://api.test/ HTTP/1.1\r\n", "http"],
  ["OPTIONS * HTTP/1.1", "http"],
  ["VERSION-CONTROL /x", "http"],
  ["get /", "other"],
  ["SSH-2.0-client", "other"],
  ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "other"],
  ["PING\r\n", "other"],
  ["SET key value", "other"],
  ["\0\0", "other"],
])("%j is %s", (text, spoken) => {
  expect(spokenBy(Buffer.from(text, "latin1"))?.type).toBe(spoken);
});
