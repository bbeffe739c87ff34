import { once } from "node:events";
import type { IncomingMessage, RequestListener } from "node:http";
import {
  type ClientHttp2Stream,
  connect as connectHttp2,
  createSecureServer,
  type ServerHttp2Stream,
} from "node:http2";
import { Agent, createServer as createHttpsServer, request } from "node:https";
import { connect as connectTcp } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { describe, expect, test } from "vitest";
import { PUBLIC } from "../outside.testsuite.ts";
import { SandboxAuthority } from "../trust/sandbox-authority.ts";
import { InterceptedWorld, KEY, SECRET } from "./intercepted-world.testsuite.ts";

const STARS = "*".repeat(SECRET.length);

describe("HTTP/2 to HTTP/2", () => {
  async function open(
    answer: (stream: ServerHttp2Stream, headers: Record<string, unknown>) => void,
  ) {
    const world = await InterceptedWorld.open();
    const server = createSecureServer(world.outer.identityOf("api.test"));
    server.on("stream", (stream, headers) => {
      stream.on("error", () => undefined);
      answer(stream, headers);
    });
    await world.outside.serve(PUBLIC, 443, server);
    const session = connectHttp2(`https://api.test:${world.port}`, world.tls);
    return { world, session };
  }

  test("passes what gRPC needs: trailers both ways, and messages as they come", async () => {
    const { world, session } = await open((stream, headers) => {
      expect([headers["te"], headers["authorization"]]).toEqual(["trailers", `Bearer ${SECRET}`]);
      stream.respond(
        { ":status": 200, "content-type": "application/grpc" },
        { waitForTrailers: true },
      );
      stream.on("data", (chunk) => void stream.write(`got ${chunk} ${SECRET}\n`));
      stream.on("trailers", (trailers) => void stream.write(`last ${trailers["x-last"]}\n`));
      stream.on("end", () => void stream.end());
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0", "x-key": SECRET }));
    });
    await using _ = world;
    const stream = session.request(
      { ":method": "POST", ":path": "/a.B/C", te: "trailers", authorization: `Bearer ${KEY}` },
      { waitForTrailers: true },
    );
    stream.on("wantTrailers", () => stream.sendTrailers({ "x-last": "told" }));
    const trailers = once(stream, "trailers");
    const said = lines(stream);
    for (const word of ["one", "two"]) {
      stream.write(word);
      expect(await said()).toBe(`got ${word} ${STARS}`);
    }
    stream.end();
    expect(await said()).toBe("last told");
    const [last] = await trailers;
    expect({ ...last }).toMatchObject({ "grpc-status": "0", "x-key": STARS });
    session.destroy();
  });

  test("keeps apart many requests at a time, over one connection", async () => {
    const { world, session } = await open((stream, headers) => {
      stream.respond({ ":status": 200 });
      setImmediate(() => stream.end(`${headers[":path"]}`));
    });
    await using _ = world;
    const paths = Array.from({ length: 300 }, (_each, number) => `/${number}`);
    const said = await Promise.all(paths.map((path) => text(session.request({ ":path": path }))));
    expect(said).toEqual(paths);
    expect(world.outside.dialled).toHaveLength(1);
    session.destroy();
  });

  test("gives up a request together with its client", async () => {
    const closed = Promise.withResolvers<number>();
    const { world, session } = await open((stream) => {
      stream.respond({ ":status": 200 });
      stream.write("begun");
      stream.on("close", () => closed.resolve(stream.rstCode));
    });
    await using _ = world;
    const stream = session.request({ ":path": "/" });
    await once(stream, "data");
    stream.close(8);
    expect(await closed.promise).toBe(8);
    session.destroy();
  });

  test("asks anew where the server has ended the connection", async () => {
    let sessions = 0;
    const { world, session } = await open((stream) => {
      stream.respond({ ":status": 200 });
      stream.end("answered", () => stream.session?.close());
      sessions += 1;
    });
    await using _ = world;
    for (let times = 1; times <= 3; times++) {
      expect(await text(session.request({ ":path": "/" }))).toBe("answered");
      await expect.poll(() => world.ledger.take().length + sessions).toBeGreaterThanOrEqual(times);
    }
    session.destroy();
  });
});

describe("to HTTP/1.1", () => {
  async function open(answer: RequestListener, limits = {}) {
    const world = await InterceptedWorld.open("api.test", limits);
    const server = createHttpsServer(world.outer.identityOf("api.test"), answer);
    await world.outside.serve(PUBLIC, 443, server);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ask = async (path: string, options: object = {}) => {
      const sent = request({
        ...world.tls,
        agent,
        path,
        headers: { host: "api.test" },
        ...options,
      });
      sent.end();
      const [answered] = (await once(sent, "response")) as [IncomingMessage];
      return { answered, body: await text(answered) };
    };
    return { world, server, agent, ask };
  }

  test("carries many requests of an HTTP/2 client, more than it has connections", async () => {
    const { world } = await open((asked, response) => setImmediate(() => response.end(asked.url)), {
      upstreams: 5,
    });
    await using _ = world;
    const session = connectHttp2(`https://api.test:${world.port}`, world.tls);
    await once(session, "remoteSettings");
    const paths = Array.from({ length: 60 }, (_each, number) => `/${number}`);
    expect(
      await Promise.all(paths.map((path) => text(session.request({ ":path": path })))),
    ).toEqual(paths);
    expect(world.outside.dialled.length).toBeLessThanOrEqual(5);
    session.destroy();
  });

  test("keeps its connection, and opens another when the server ended it", async () => {
    const { world, server, agent, ask } = await open((asked, response) => response.end(asked.url));
    await using _ = world;
    for (const path of ["/1", "/2"]) expect((await ask(path)).body).toBe(path);
    expect(world.outside.dialled).toHaveLength(1);
    server.closeAllConnections();
    await expect.poll(() => world.ledger.take().some(({ ms }) => ms > 0)).toBe(true);
    expect((await ask("/3")).body).toBe("/3");
    expect(world.outside.dialled).toHaveLength(2);
    agent.destroy();
  });

  test("passes server-sent events at once, and trailers at the end", async () => {
    const { world, agent } = await open((asked, response) => {
      response.writeHead(200, { "content-type": "text/event-stream", trailer: "x-last" });
      response.write(`data: ${asked.headers["x-key"]}\n\n`);
      asked.on("data", (chunk) => response.write(`data: ${chunk}\n\n`));
      asked.on("end", () => {
        response.addTrailers({ "x-last": SECRET });
        response.end();
      });
    });
    await using _ = world;
    const sent = request({
      ...{ ...world.tls, agent, method: "POST" },
      headers: { host: "api.test", "x-key": KEY, "transfer-encoding": "chunked" },
    });
    sent.flushHeaders();
    const [answered] = (await once(sent, "response")) as [IncomingMessage];
    const said = lines(answered);
    expect(await said()).toBe(`data: ${STARS}`);
    // Sent only when the first was read: nothing was kept back.
    await said();
    for (const word of ["no end", "seen"]) {
      sent.write(word);
      const heard = await said();
      await said();
      const rest = heard === `data: ${word}` ? "" : await said();
      expect(`${heard}${rest}`.replaceAll("data: ", "")).toBe(word);
      if (rest !== "") await said();
    }
    sent.end();
    await once(answered, "end");
    expect(answered.trailers).toEqual({ "x-last": STARS });
    agent.destroy();
  });

  test("answers nothing for a server that is not who it is said to be", async () => {
    let asked = 0;
    const world = await InterceptedWorld.open();
    await using _ = world;
    for (const identity of [
      new SandboxAuthority().identityOf("api.test"),
      world.outer.identityOf("other.test"),
    ]) {
      await world.outside.serve(
        PUBLIC,
        443,
        createHttpsServer(identity, () => {
          asked += 1;
        }),
      );
      const sent = request({
        ...world.tls,
        agent: false,
        headers: { host: "api.test", "x-key": KEY },
      });
      sent.end();
      const [answered] = (await once(sent, "response")) as [IncomingMessage];
      const said = await text(answered);
      expect([answered.statusCode, said]).toEqual([
        502,
        expect.stringMatching(/certificate|altnames/),
      ]);
      expect(said).not.toContain(SECRET);
    }
    expect(asked).toBe(0);
  });

  test("bounds the headers of both sides", async () => {
    const { world, ask, agent } = await open((_asked, response) => {
      response.writeHead(200, { "x-large": "x".repeat(200_000) }).end();
    });
    await using _ = world;
    expect((await ask("/")).answered.statusCode).toBe(502);
    const large = { host: "api.test", "x-large": "x".repeat(200_000) };
    await expect(ask("/", { headers: large })).rejects.toThrow(/hang up|ECONNRESET|EPIPE/);
    agent.destroy();
  });

  test("cuts an answer that is cut, and one that cannot be unpacked", async () => {
    const { world, ask, agent } = await open((asked, response) => {
      const isPacked = asked.url === "/packed";
      response.writeHead(
        200,
        isPacked ? { "content-encoding": "gzip" } : { "content-length": "100" },
      );
      response.write("some of it");
      setImmediate(() => (isPacked ? response.end() : response.destroy()));
    });
    await using _ = world;
    await expect(ask("/cut")).rejects.toThrow(/aborted|hang up/);
    await expect(ask("/packed")).rejects.toThrow(/aborted|hang up/);
    agent.destroy();
  });

  test.each(["http/1.1", "h2"])(
    "passes on the rest of a body that is answered early: %s",
    async (protocol) => {
      const got: number[] = [];
      const { world, agent } = await open(async (asked, response) => {
        response.end("early");
        got.push((await buffer(asked)).length);
      });
      await using _ = world;
      const whole = Buffer.alloc(8_000_000, "x");
      if (protocol === "h2") {
        const session = connectHttp2(`https://api.test:${world.port}`, world.tls);
        const stream = session.request({ ":method": "POST", ":path": "/" }, { endStream: false });
        stream.end(whole);
        expect(await text(stream)).toBe("early");
        await expect.poll(() => got).toEqual([whole.length]);
        session.destroy();
      } else {
        const headers = { host: "api.test", "content-length": String(whole.length) };
        const sent = request({ ...{ ...world.tls, agent, method: "POST" }, headers });
        const sentAll = once(sent, "finish");
        sent.end(whole);
        const [answered] = (await once(sent, "response")) as [IncomingMessage];
        expect(await text(answered)).toBe("early");
        await sentAll;
        await expect.poll(() => got).toEqual([whole.length]);
      }
      agent.destroy();
    },
  );

  test("lets go of an answer that it cannot read, whatever becomes of that", async () => {
    const closed = Promise.withResolvers<void>();
    const { world, ask, agent } = await open((asked, response) => {
      asked.socket.once("close", closed.resolve);
      response.writeHead(200, { "content-encoding": "compress", "content-length": "100" });
      response.write("some of it");
      setImmediate(() => response.destroy());
    });
    await using _ = world;
    const { answered, body } = await ask("/");
    expect([answered.statusCode, body]).toEqual([502, expect.stringContaining("compress")]);
    await closed.promise;
    agent.destroy();
  });

  test("takes no body with an offer of another protocol", async () => {
    const seen: string[] = [];
    const { world } = await open((asked, response) => {
      seen.push(`${asked.method} ${asked.url}`);
      response.end("ok");
    });
    await using _ = world;
    const socket = connectTls(world.tls);
    socket.write(
      "POST / HTTP/1.1\r\nHost: api.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 40\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: api.test\r\n\r\n",
    );
    expect((await buffer(socket)).toString()).toMatch(/^HTTP\/1.1 501 /);
    expect(seen).toEqual([]);
  });

  test("is no way to smuggle a request: what was read is written anew", async () => {
    const seen: string[] = [];
    const { world } = await open((asked, response) => {
      seen.push(`${asked.method} ${asked.url}`);
      response.end("ok");
    });
    await using _ = world;
    const socket = connectTls(world.tls);
    socket.on("error", () => undefined);
    socket.write(
      "POST / HTTP/1.1\r\nHost: api.test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: api.test\r\n\r\n",
    );
    await buffer(socket);
    expect(seen).not.toContain("GET /smuggled");
  });

  test.each(["GET", "DELETE", "POST"])(
    "frames the body of a %s, which is no second request",
    async (method) => {
      const seen: string[] = [];
      const { world, agent } = await open(async (asked, response) => {
        const { cookie } = asked.headers;
        seen.push(`${asked.method} ${asked.url} ${await text(asked)} ${cookie}`);
        response.end("ok");
      });
      await using _ = world;
      const inner = `POST /inner HTTP/1.1\r\nHost: api.test\r\nX: ${KEY}\r\nContent-Length: 0\r\n\r\n`;
      const whole = `${method} /outer ${inner.replace(KEY, SECRET)} a=1; b=2`;
      const sent = request({
        ...{ ...world.tls, agent, method, path: "/outer" },
        headers: { host: "api.test", "transfer-encoding": "chunked", cookie: "a=1; b=2" },
      });
      sent.end(inner);
      await once(sent, "response");
      const session = connectHttp2(`https://api.test:${world.port}`, world.tls);
      const stream = session.request(
        { ":method": method, ":path": "/outer", cookie: ["a=1", "b=2"] },
        { endStream: false },
      );
      stream.end(inner);
      expect(await text(stream)).toBe("ok");
      expect(seen).toEqual([whole, whole]);
      session.destroy();
      agent.destroy();
    },
  );

  test("ends everything when the sandbox ends", async () => {
    const { world, ask, server, agent } = await open((asked, response) => {
      if (asked.url === "/whole") return void response.end("whole");
      response.write("begun");
    });
    await using _ = world;
    await ask("/whole");
    const sent = request({ ...world.tls, agent, headers: { host: "api.test" } });
    sent.end();
    const [answered] = (await once(sent, "response")) as [IncomingMessage];
    await once(answered, "data");
    world.wayOut.close();
    await expect(text(answered)).rejects.toThrow(/aborted/);
    await expect
      .poll(
        () => new Promise((resolve) => server.getConnections((_error, count) => resolve(count))),
      )
      .toBe(0);
    agent.destroy();
  });

  test("ends a connection over which nothing goes", async () => {
    const { world, ask, agent } = await open((_asked, response) => void response.end("ok"), {
      idleMs: 1_000,
    });
    await using _ = world;
    await ask("/");
    const idle = connectTls(world.tls);
    await once(idle, "secureConnect");
    idle.resume();
    await once(idle, "close");
    const silent = connectTcp(world.port, "127.0.0.1");
    silent.resume();
    await once(silent, "close");
    agent.destroy();
  });
});

test("is not read, a client that names another server than the one that it dialled", async () => {
  await using world = await InterceptedWorld.open(PUBLIC);
  const seen: unknown[] = [];
  const server = createHttpsServer(world.outer.identityOf("hosted.test"), (asked, response) => {
    seen.push(asked.headers["x-key"]);
    response.end("its own");
  });
  await world.outside.serve(PUBLIC, 443, server);
  const named = { ...world.tls, servername: "hosted.test", ca: world.outer.pem, agent: false };
  const sent = request({ ...named, headers: { host: "hosted.test", "x-key": KEY } });
  sent.end();
  const [answered] = (await once(sent, "response")) as [IncomingMessage];
  expect([await text(answered), seen]).toEqual(["its own", [KEY]]);
});

/** The next line of what comes, however it is cut. */
function lines(stream: IncomingMessage | ClientHttp2Stream): () => Promise<string> {
  let held = "";
  const waiting: ((line: string) => void)[] = [];
  const ready: string[] = [];
  stream.on("data", (chunk) => {
    held += String(chunk);
    const parts = held.split("\n");
    held = parts.pop() ?? "";
    for (const line of parts) {
      const next = waiting.shift();
      if (next) next(line);
      else ready.push(line);
    }
  });
  return async () => ready.shift() ?? (await new Promise((resolve) => waiting.push(resolve)));
}
