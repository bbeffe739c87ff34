import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { CERTIFICATE, CERTIFICATE_KEY } from "@drover/testing";
import { expect, onTestFinished, test } from "vitest";
import type { EgressOutcome, EgressRequest } from "../core/ports/egress.ts";
import { EgressPolicy } from "./egress-policy.ts";
import { GuardedEgress } from "./guarded-egress.ts";
import type { ResolvedAddress } from "./name-resolver.ts";

const SECRET = "canary-secret";

async function serve(listener: RequestListener, isEncrypted = false) {
  const seen: string[] = [];
  const answer: RequestListener = (request, response) => {
    seen.push(`${request.method} ${request.headers.host}${request.url}`);
    listener(request, response);
  };
  const keys = { key: CERTIFICATE_KEY, cert: CERTIFICATE };
  const server: Server = isEncrypted ? createTlsServer(keys, answer) : createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise((resolve) => void server.close(() => resolve())));
  const { port } = server.address() as AddressInfo;
  return { port, seen };
}

const hello: RequestListener = (_, response) => void response.end("hello");

function egress(
  allow: readonly string[],
  answers: Readonly<Record<string, readonly string[]>> = {},
) {
  const asked: string[] = [];
  const policy = new EgressPolicy({ allow, ownAddresses: () => [] });
  const resolve = async (host: string): Promise<readonly ResolvedAddress[]> => {
    asked.push(host);
    const found = answers[host];
    if (found === undefined) throw new Error(`getaddrinfo ENOTFOUND ${host}`);
    return found.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  };
  const guarded = new GuardedEgress({ policy, resolve, certificates: CERTIFICATE });
  const send = (url: string, request: Partial<EgressRequest> = {}): Promise<EgressOutcome> =>
    guarded.send({
      method: "POST",
      url,
      headers: { authorization: `Bearer ${SECRET}` },
      timeoutMs: 5_000,
      bytesMax: 1_000,
      ...request,
    });
  return { asked, send };
}

const text = (outcome: EgressOutcome) =>
  outcome.type === "response" ? Buffer.from(outcome.body).toString() : outcome;

test.each([
  "http://127.0.0.1",
  "https://127.0.0.1",
  "http://2130706433",
  "http://0x7f000001",
  "http://0x7f.1",
  "http://0177.0.0.1",
  "http://127.1",
  "http://0",
  "http://[::1]",
  "http://[::ffff:127.0.0.1]",
  "http://[::ffff:7f00:1]",
  "http://[64:ff9b::127.0.0.1]",
  "http://[2002:7f00:1::]",
  "http://localhost",
  "http://LOCALHOST.",
  "http://inner.example",
  "http://user:word@127.0.0.1",
  "http://１２７.0.0.1",
])("%s is refused without being dialled", async (origin) => {
  const { port, seen } = await serve(hello);
  const { send } = egress([], {
    localhost: ["127.0.0.1"],
    "localhost.": ["::1", "127.0.0.1"],
    "inner.example": ["10.0.0.1", "127.0.0.1"],
  });
  const outcome = await send(`${origin}:${port}/mcp`);
  expect(outcome).toMatchObject({ type: "refused" });
  expect(seen).toEqual([]);
});

test("what the operator named is dialled, also without TLS", async () => {
  const { port, seen } = await serve(hello);
  const byAddress = egress(["127.0.0.0/8"]);
  expect(text(await byAddress.send(`http://127.0.0.1:${port}/a?b`))).toBe("hello");
  expect(text(await byAddress.send(`http://0x7f.1:${port}/hex`))).toBe("hello");
  const byName = egress(["mcp.internal"], { "mcp.internal": ["127.0.0.1"] });
  expect(text(await byName.send(`http://mcp.internal:${port}/c`))).toBe("hello");
  expect(seen).toEqual([
    `POST 127.0.0.1:${port}/a?b`,
    `POST 127.0.0.1:${port}/hex`,
    `POST mcp.internal:${port}/c`,
  ]);
});

test("a name is resolved once, and only the addresses that may be dialled are", async () => {
  const { port, seen } = await serve(hello);
  const { asked, send } = egress(["127.0.0.1"], { "two.example": ["10.0.0.1", "127.0.0.1"] });
  expect(text(await send(`http://two.example:${port}/`))).toBe("hello");
  expect(asked).toEqual(["two.example"]);
  expect(seen).toHaveLength(1);
});

test("the public internet is asked over TLS alone", async () => {
  const { send } = egress([], { "public.example": ["192.0.1.1"] });
  const outcome = await send("http://public.example/");
  expect(outcome).toMatchObject({ type: "refused", message: expect.stringContaining("TLS") });
  expect(await send("ftp://public.example/")).toMatchObject({ type: "refused" });
});

test("what has no secret may be sent to public servers without TLS", async () => {
  const { port, seen } = await serve(hello);
  /** Takes this machine for the public internet. */
  class Trusting extends EgressPolicy {
    override verdict(host: string, address: string) {
      return address === "127.0.0.1" ? "public" : super.verdict(host, address);
    }
  }
  const guarded = new GuardedEgress({
    policy: new Trusting({ allow: [], ownAddresses: () => [] }),
    resolve: async (host) => [
      { address: host === "inner.example" ? "10.0.0.1" : "127.0.0.1", family: 4 },
    ],
  });
  const send = (host: string, isPlainAllowed: boolean) => {
    const url = `http://${host}:${port}/`;
    const bounds = { headers: {}, timeoutMs: 5_000, bytesMax: 100 };
    return guarded.send({ method: "GET", url, ...bounds, isPlainAllowed });
  };
  expect(await send("public.example", false)).toMatchObject({ type: "refused" });
  expect(text(await send("public.example", true))).toBe("hello");
  expect(await send("inner.example", true)).toMatchObject({ type: "refused" });
  expect(seen).toHaveLength(1);
});

test("a packed answer is unpacked where that is asked for, up to the size", async () => {
  const { port } = await serve(({ url, headers }, response) => {
    expect(headers["accept-encoding"]).toBe("gzip, deflate, br");
    const [encoding, body] =
      url === "/br"
        ? ["br", brotliCompressSync("hello")]
        : url === "/deflate"
          ? ["deflate", deflateSync("hello")]
          : url === "/bomb"
            ? ["gzip", gzipSync(Buffer.alloc(10_000_000))]
            : url === "/broken"
              ? ["gzip", Buffer.from("no gzip")]
              : ["zstd", Buffer.from("hello")];
    response.writeHead(200, { "content-encoding": encoding }).end(body);
  });
  const { send } = egress(["127.0.0.1"]);
  const at = (path: string) => send(`http://127.0.0.1:${port}${path}`, { isPackedAllowed: true });
  expect([text(await at("/br")), text(await at("/deflate"))]).toEqual(["hello", "hello"]);
  const bomb = await at("/bomb");
  expect(bomb).toMatchObject({ type: "response", isTruncated: true });
  expect(String(text(bomb))).toHaveLength(1_000);
  expect(await at("/broken")).toMatchObject({ isTruncated: true });
  expect(await at("/other")).toMatchObject({ isTruncated: true });
});

test("a request ends when its signal says so", async () => {
  const { port } = await serve(() => ending.abort());
  const ending = new AbortController();
  const { send } = egress(["127.0.0.1"]);
  const outcome = await send(`http://127.0.0.1:${port}/`, { signal: ending.signal });
  expect(outcome).toMatchObject({ type: "failed" });
});

test("a certificate must be for the name", async () => {
  const { port } = await serve(hello, true);
  const answers = { "mcp.test": ["127.0.0.1"], "other.test": ["127.0.0.1"] };
  const { send } = egress(["127.0.0.1"], answers);
  expect(text(await send(`https://mcp.test:${port}/`))).toBe("hello");
  expect(await send(`https://other.test:${port}/`)).toMatchObject({ type: "failed" });
  const plain = await serve(hello);
  expect(await send(`https://mcp.test:${plain.port}/`)).toMatchObject({ type: "failed" });
});

test("a redirect is an answer, and is not followed", async () => {
  const target = await serve(hello);
  const { port, seen } = await serve((_, response) =>
    response.writeHead(307, { location: `http://127.0.0.1:${target.port}/` }).end("over there"),
  );
  const { send } = egress(["127.0.0.1"]);
  const outcome = await send(`http://127.0.0.1:${port}/`);
  expect(outcome).toMatchObject({ type: "response", status: 307 });
  expect([seen.length, target.seen.length]).toEqual([1, 0]);
});

test("what is not there, not known or silent is said to have failed, without the request", async () => {
  const silent = await serve(() => undefined);
  const { send } = egress(["127.0.0.1"]);
  const closed = await serve(hello);
  const failures = [
    await send(`http://nowhere.example:${closed.port}/`),
    await send(`http://127.0.0.1:${silent.port}/`, { timeoutMs: 50 }),
    await send("http://127.0.0.1:1/"),
    await send("http://not a url/"),
  ];
  for (const failure of failures) expect(failure).toMatchObject({ type: "failed" });
  expect(failures[1]).toMatchObject({ message: "there was no answer within 50 ms" });
  expect(JSON.stringify(failures)).not.toContain(SECRET);
  const stuck = new GuardedEgress({
    policy: new EgressPolicy({ allow: [], ownAddresses: () => [] }),
    resolve: () => new Promise(() => undefined),
  });
  const request = { method: "GET", url: "https://a.example/", headers: {}, bytesMax: 1 } as const;
  expect(await stuck.send({ ...request, timeoutMs: 50 })).toMatchObject({ type: "failed" });
});

test("an answer is read up to a size, up to an end that is asked for, or as far as it comes", async () => {
  const { port } = await serve(({ url }, response) => {
    if (url === "/large") return void response.end("x".repeat(5_000));
    if (url === "/packed") {
      return void response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("hello"));
    }
    response.write("data: 1\n\n");
    if (url === "/cut") return void setImmediate(() => response.destroy());
  });
  const { send } = egress(["127.0.0.1"]);
  const at = (path: string, request: Partial<EgressRequest> = {}) =>
    send(`http://127.0.0.1:${port}${path}`, request);
  const large = await at("/large");
  expect([text(large), large]).toEqual([
    "x".repeat(1_000),
    expect.objectContaining({ isTruncated: true }),
  ]);
  const packed = await at("/packed");
  expect([text(packed), packed]).toEqual(["", expect.objectContaining({ isTruncated: true })]);
  const endless = await at("/endless", { isEnough: (chunk) => chunk.includes(10) });
  expect([text(endless), endless]).toEqual([
    "data: 1\n\n",
    expect.objectContaining({ isTruncated: false }),
  ]);
  const timedOut = await at("/endless", { timeoutMs: 1_000 });
  expect(timedOut).toMatchObject({ type: "response", status: 200, isTruncated: true });
  expect(await at("/cut")).toMatchObject({ type: "response", isTruncated: true });
});
