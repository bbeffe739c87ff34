import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { listen } from "./listen.ts";
import { openWorld } from "./world.testsuite.ts";

async function exchange(port: number, text: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.setEncoding("utf8").end(text);
  let answer = "";
  for await (const chunk of socket) answer += chunk;
  return answer;
}

test("answers a malformed request in the envelope", async () => {
  const world = await openWorld();
  const { port } = await world.listen();
  const answer = await exchange(
    port,
    "GET /v1/agents HTTP/1.1\r\nhost: a b\r\nconnection: close\r\n\r\n",
  );
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(answer).toContain('"type":"invalid_request_error"');
});

test("a client that goes away within its body is no failure of ours", async () => {
  const world = await openWorld();
  const { port } = await world.listen();
  const head = `POST /v1/agents HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${world.key}\r\n`;
  for (const length of ["content-length: 100", "transfer-encoding: chunked"]) {
    const socket = connect(port, "127.0.0.1");
    socket.write(`${head}content-type: application/json\r\n${length}\r\n\r\n`);
    await once(socket, "connect");
    socket.write(length.endsWith("chunked") ? '5\r\n{"nam\r\n' : '{"nam');
    socket.destroySoon();
    await once(socket, "close");
  }
  // The next request is answered only after what those two have left behind.
  expect((await exchange(port, `GET /health HTTP/1.1\r\nhost: x\r\n\r\n`)).slice(0, 15)).toBe(
    "HTTP/1.1 200 OK",
  );
  expect(world.logged).toEqual([]);
});

test.each(["%2e%2e", "..", ".%2E", "%2e", "x/.."])(
  "%s in a path does not make its parent of it",
  async (segment) => {
    const world = await openWorld();
    const { port } = await world.listen();
    const { agent } = await world.prepare();
    const ask = (path: string) =>
      exchange(
        port,
        `POST ${path}/archive HTTP/1.1\r\nhost: x\r\nx-api-key: ${world.key}\r\nconnection: close\r\n\r\n`,
      );
    expect(await ask(`/v1/agents/${agent}/versions/${segment}`)).toMatch(/^HTTP\/1\.1 404 /);
    expect((await world.request("GET", `/v1/agents/${agent}`)).body.archived_at).toBeNull();
    expect(await ask(`/v1/agents/${agent}`)).toMatch(/^HTTP\/1\.1 200 /);
  },
);

test("rejects when the port is taken", async () => {
  const world = await openWorld();
  const { port } = await world.listen();
  await expect(listen(world.app, { host: "127.0.0.1", port })).rejects.toMatchObject({
    code: "EADDRINUSE",
  });
});

test("closes at once with connections that ask nothing, and takes no more", async () => {
  const world = await openWorld();
  const listener = await world.listen();
  const idle = connect(listener.port, "127.0.0.1");
  await once(idle, "connect");
  await listener.close();
  await once(idle.resume(), "close");
  await expect(fetch(`${listener.url}/health`)).rejects.toThrow();
});

test("a request that is under way when the server closes is still answered", async () => {
  const world = await openWorld();
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let isHeld = () => {};
  const arrived = new Promise<void>((resolve) => {
    isHeld = resolve;
  });
  world.app.get("/held", async (c) => {
    isHeld();
    await held;
    return c.text("done");
  });
  const listener = await world.listen();
  const response = fetch(`${listener.url}/held`);
  await arrived;
  const closed = listener.close();
  release();
  expect(await (await response).text()).toBe("done");
  await closed;
});
