import { createSocket } from "node:dgram";
import { hostname } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { nameResolver } from "./name-resolver.ts";

const TYPE_A = 1;
const TYPE_AAAA = 28;

/** A name server on loopback that knows these names; to others it says that there is nothing. */
async function serveNames(names: Readonly<Record<string, { v4?: number[]; v6?: number[] }>>) {
  const asked: string[] = [];
  const socket = createSocket("udp4");
  socket.on("message", (query, { port }) => {
    const { name, end } = nameIn(query);
    asked.push(name);
    const type = query.readUInt16BE(end);
    const known = names[name];
    const data = type === TYPE_A ? known?.v4 : type === TYPE_AAAA ? known?.v6 : undefined;
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(known === undefined ? 0x8183 : 0x8180, 2);
    head.writeUInt16BE(data === undefined ? 0 : 1, 6);
    // Nothing after the question, also where one brought an extension.
    head.writeUInt32BE(0, 8);
    const record = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, data?.length ?? 0]);
    const answer = data === undefined ? [] : [record, Buffer.from(data)];
    socket.send(Buffer.concat([head, query.subarray(12, end + 4), ...answer]), port, "127.0.0.1");
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  onTestFinished(() => void socket.close());
  return { asked, server: `127.0.0.1:${socket.address().port}` };
}

function nameIn(query: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join("."), end: at + 1 };
}

test("all addresses of a name are found, of both kinds", async () => {
  const loopback = [...Array.from({ length: 15 }, () => 0), 1];
  const { server } = await serveNames({
    "both.example": { v4: [8, 8, 4, 4], v6: loopback },
    "one.example": { v4: [1, 2, 3, 4] },
  });
  const resolve = nameResolver({ isNamed: () => false, servers: [server] });
  expect(await resolve("both.example")).toEqual([
    { address: "8.8.4.4", family: 4 },
    { address: "::1", family: 6 },
  ]);
  expect(await resolve("one.example")).toEqual([{ address: "1.2.3.4", family: 4 }]);
  await expect(resolve("none.example")).rejects.toThrow("none.example");
});

test("no name server is asked for this machine, or for what the operator trusts", async () => {
  const { asked, server } = await serveNames({});
  const resolve = nameResolver({ isNamed: (host) => host === hostname(), servers: [server] });
  for (const name of ["localhost", "LocalHost.", "a.b.localhost"]) {
    expect(await resolve(name)).toEqual([
      { address: "127.0.0.1", family: 4 },
      { address: "::1", family: 6 },
    ]);
  }
  // Every system knows its own name, by its own files.
  await resolve(hostname()).catch(() => undefined);
  expect(asked).toEqual([]);
  await expect(resolve("localhost.example")).rejects.toThrow();
  expect(new Set(asked)).toEqual(new Set(["localhost.example"]));
});
