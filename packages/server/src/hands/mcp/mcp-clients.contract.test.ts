import type { ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { CERTIFICATE, CERTIFICATE_KEY, startEverything } from "@drover/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import type { McpOffer } from "../../core/ports/session-credentials.ts";
import { ScriptedCredentials } from "../fake/scripted-credentials.ts";
import {
  answerJson,
  type Handlers,
  INITIALIZED,
  openClients,
  rpcResult,
  startServer,
} from "./hostile-server.testsuite.ts";
import { MCP_LIMITS } from "./mcp-clients.ts";

const MIB = 1024 * 1024;
const GOOD = { name: "good", description: "good", inputSchema: { type: "object" } };
const textOf = ({ content }: { content: readonly object[] }) =>
  content.map((block) => ("text" in block ? block.text : JSON.stringify(block))).join("\n");
const said = (text: string) => ({ content: [{ type: "text", text }] });
const listing = (...tools: readonly unknown[]): Handlers => ({ "tools/list": () => ({ tools }) });

describe.each(["streamableHttp", "sse"] as const)("the reference server over %s", (transport) => {
  test("is listed, called, and stopped", async () => {
    await using everything = await startEverything(transport);
    const { list, call, clients } = openClients(everything);
    const { tools, error, left_out, egress } = await list();
    expect([error, left_out]).toEqual([undefined, undefined]);
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["echo", "get-sum", "get-tiny-image", "get-structured-content"]),
    );
    expect(egress).toMatchObject([{ host: "127.0.0.1", verdict: "allowed" }]);
    expect(await call("echo", { message: "hi" })).toMatchObject({
      ...{ content: [{ type: "text", text: "Echo: hi" }], is_error: false },
    });
    const image = await call("get-tiny-image");
    expect(image.content).toContainEqual({
      type: "image",
      source: { type: "base64", media_type: "image/png", data: expect.stringMatching(/^iVBOR/) },
    });
    expect(textOf(await call("get-resource-links", { count: 1 }))).toContain(
      "[link to the resource",
    );
    const blob = await call("get-resource-reference", { resourceType: "Blob", resourceId: 1 });
    expect(textOf(blob)).toMatch(/\[resource demo:.*\] \[binary content that cannot be shown/);
    expect((await call("get-sum", { a: 1, b: "x" })).is_error).toBe(true);
    expect((await call("no-such-tool")).is_error).toBe(true);
    expect(
      textOf(await call("trigger-long-running-operation", { duration: 1, steps: 2 })),
    ).toContain("completed");
    await clients.close();
  });
});

describe("what a server lists", () => {
  test("is offered as far as it is usable, and one bad tool spoils no other", async () => {
    const server = await startServer(
      listing(
        null,
        "tool",
        {},
        { name: "" },
        { name: 7 },
        { ...GOOD, name: "x".repeat(10_000) },
        { ...GOOD, name: "array", inputSchema: { type: "array" } },
        { ...GOOD, name: "list", inputSchema: [] },
        { ...GOOD, name: "deep", inputSchema: nested(500) },
        { ...GOOD, name: "large", inputSchema: { type: "object", title: "t".repeat(200_000) } },
        { ...GOOD, name: "__proto__" },
        { ...GOOD, name: 'quo"ted\n' },
        { ...GOOD, name: "ünï 🦜" },
        GOOD,
        GOOD,
      ),
    );
    const { tools, left_out, error } = await openClients(server).list();
    expect(error).toBeUndefined();
    expect(tools.map(({ name }) => name)).toEqual(["__proto__", 'quo"ted\n', "ünï 🦜", "good"]);
    expect(left_out).toHaveLength(11);
    expect(left_out?.at(-1)).toEqual({ name: "good", reason: "has the name of another one" });
  });

  test("is bounded: ten thousand tools, and pages without an end", async () => {
    const many = Array.from({ length: 10_000 }, (_, index) => ({ ...GOOD, name: `t${index}` }));
    const first = await openClients(await startServer(listing(...many))).list();
    expect(first.tools).toHaveLength(256);
    let pages = 0;
    const endless = await startServer({
      "tools/list": () => ({ tools: [{ ...GOOD, name: `p${++pages}` }], nextCursor: `c${pages}` }),
    });
    const second = await openClients(endless).list();
    expect(second.tools).toHaveLength(64);
    expect(second.left_out).toHaveLength(1);
  });

  test("is nothing where it has no tools at all", async () => {
    const server = await startServer({
      initialize: () => ({
        ...{ protocolVersion: "2025-06-18", capabilities: {} },
        serverInfo: { name: "none", version: "1" },
      }),
    });
    expect(await openClients(server).list()).toMatchObject({ tools: [] });
  });

  test.each<[string, Handlers, RegExp, "connection" | "authentication"]>([
    [
      "no JSON",
      { "tools/list": ({ response }) => answerJson(response, "{nope") },
      /broke off/,
      "connection",
    ],
    [
      "another id",
      {
        "tools/list": ({ response }) =>
          void response
            .writeHead(200, { "content-type": "application/json" })
            .end(JSON.stringify(rpcResult(4_711, { tools: [] }))),
      },
      /broke off/,
      "connection",
    ],
    ["no list", { "tools/list": () => ({ tools: 7 }) }, /./, "connection"],
    [
      "an error",
      {
        "tools/list": ({ response, id }) =>
          answerJson(response, { jsonrpc: "2.0", id, error: { code: 1, message: "not today" } }),
      },
      /not today/,
      "connection",
    ],
    [
      "another type",
      {
        "tools/list": ({ response }) =>
          void response.writeHead(200, { "content-type": "text/html" }).end("<p>"),
      },
      /./,
      "connection",
    ],
    [
      "more than is read",
      { "tools/list": ({ response }) => flood(response, "application/json") },
      /broke off/,
      "connection",
    ],
    [
      "a line without an end",
      { "tools/list": ({ response }) => flood(response, "text/event-stream") },
      /broke off/,
      "connection",
    ],
    ["401", status(401), /status 401: the session's vaults have no credential/, "authentication"],
    ["403", status(403), /status 403/, "authentication"],
    ["404", status(404), /status 404/, "connection"],
    ["500", status(500), /status 500/, "connection"],
    ["502", status(502), /status 502/, "connection"],
    [
      "a way to a private address",
      redirect("http://10.0.0.1/"),
      /redirects are not followed/,
      "connection",
    ],
    ["a way to itself", redirect("/mcp"), /redirects are not followed/, "connection"],
    [
      "a status that is none",
      { initialize: ({ response }) => void response.writeHead(999).end() },
      /status 999/,
      "connection",
    ],
    [
      "a hang-up",
      { initialize: ({ response }) => void response.destroy() },
      /broke off/,
      "connection",
    ],
  ])("is an error of the server where it says %s", async (_, handlers, message, type) => {
    const { tools, error } = await openClients(await startServer(handlers)).list();
    expect(tools).toEqual([]);
    expect(error).toEqual({ type, message: expect.stringMatching(message) });
  });

  test("is waited for within bounds, however slowly it comes", async () => {
    const server = await startServer({
      "tools/list": ({ response }) => {
        response.writeHead(200, { "content-type": "application/json" });
        const drip = () => response.destroyed || response.write(" ", () => setImmediate(drip));
        drip();
        return undefined;
      },
    });
    const { error } = await openClients(server, { limits: { listMs: 300 } }).list();
    expect(error?.message).toContain("did not say within 0.3 s");
  });

  test("of one server is not told where all together are too much", async () => {
    const server = await startServer(listing(GOOD));
    const { tools, error } = await openClients(server, { limits: { listingLengthMax: 10 } }).list();
    expect([tools, error?.message]).toEqual([[], expect.stringContaining("do not fit")]);
  });

  test("is not waited for when the wait is given up", async () => {
    const server = await startServer({ "tools/list": () => undefined });
    const giveUp = new AbortController();
    const listed = openClients(server).list(giveUp.signal);
    await arrived(server, "tools/list");
    giveUp.abort();
    expect((await listed).error?.type).toBe("connection");
  });
});

describe("a call", () => {
  test("is answered by a stream that never ends", async () => {
    const closed = Promise.withResolvers<void>();
    const server = await startServer({
      "tools/call": ({ id, response }) => {
        response.once("close", closed.resolve);
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(": hello\n\n");
        response.write(`data: ${JSON.stringify(rpcResult(id, said("early")))}\n\n`);
        return undefined;
      },
    });
    expect(textOf(await openClients(server).call("any"))).toBe("early");
    await closed.promise;
  });

  test("that is dropped in the middle may have run, and is not repeated; later ones work", async () => {
    let calls = 0;
    const server = await startServer({
      "tools/call": ({ response }) => {
        calls += 1;
        if (calls > 1) return said("again");
        response.writeHead(200, { "content-type": "text/event-stream" }).write(": hello\n\n");
        setImmediate(() => response.destroy());
        return undefined;
      },
    });
    const { call } = openClients(server);
    const dropped = await call("any");
    expect(dropped).toMatchObject({ is_error: true, tools_changed: true });
    expect(textOf(dropped)).toContain("Whether the tool ran is not known");
    expect(calls).toBe(1);
    expect(textOf(await call("any"))).toBe("again");
  });

  test("whose stream has a name goes on where it broke off", async () => {
    let asked: number | undefined;
    const server = await startServer({
      "tools/call": ({ id, response }) => {
        asked = id;
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end("retry: 1\nid: event-1\ndata:\n\n");
        return undefined;
      },
      GET: ({ headers, response }) => {
        if (headers["last-event-id"] !== "event-1") return void response.writeHead(405).end();
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(`id: event-2\ndata: ${JSON.stringify(rpcResult(asked, said("late")))}\n\n`);
        return undefined;
      },
    });
    expect(textOf(await openClients(server).call("any"))).toBe("late");
  });

  test.each([404, 400])(
    "begins a new session where the server forgot its own (%s)",
    async (gone) => {
      let sessions = 0;
      const ran: unknown[] = [];
      const server = await startServer({
        initialize: ({ response, id }) => {
          sessions += 1;
          response.setHeader("mcp-session-id", `session-${sessions}`);
          return answerJson(response, rpcResult(id, INITIALIZED));
        },
        "tools/call": ({ headers, response }) => {
          const session = headers["mcp-session-id"];
          if (session === "session-1") return answerJson(response, { error: "who?" }, gone);
          ran.push(session);
          return said("hello");
        },
      });
      expect(textOf(await openClients(server).call("any"))).toBe("hello");
      expect(ran).toEqual(["session-2"]);
    },
  );

  test("is given up where the server forgets every session", async () => {
    const server = await startServer({
      initialize: ({ response, id }) => {
        response.setHeader("mcp-session-id", "session");
        return answerJson(response, rpcResult(id, INITIALIZED));
      },
      "tools/call": ({ response }) => answerJson(response, {}, 404),
    });
    const { call } = openClients(server);
    expect(textOf(await call("any"))).toContain("The tool was not run.");
    const calls = server.seen.filter(({ body }) => body.includes("tools/call"));
    expect(calls).toHaveLength(2);
  });

  test("that is cancelled tells the server so", async () => {
    const server = await startServer({ "tools/call": () => undefined });
    const stop = new AbortController();
    const called = openClients(server).call("any", {}, stop.signal);
    await arrived(server, "tools/call");
    stop.abort();
    expect((await called).is_error).toBe(true);
    await arrived(server, "notifications/cancelled");
  });

  test("is not asked back: sampling, elicitation and roots are methods that there are not", async () => {
    const answers: unknown[] = [];
    const asked = Promise.withResolvers<void>();
    const methods = ["sampling/createMessage", "elicitation/create", "roots/list"];
    const server = await startServer({
      answer: ({ params }) => {
        answers.push(Object(params["error"])["code"]);
        if (answers.length === methods.length) asked.resolve();
        return undefined;
      },
      "tools/call": ({ id, response }) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        for (const [index, method] of methods.entries()) {
          const request = { jsonrpc: "2.0", id: index, method, params: {} };
          response.write(`data: ${JSON.stringify(request)}\n\n`);
        }
        void asked.promise.then(() =>
          response.end(`data: ${JSON.stringify(rpcResult(id, said("done")))}\n\n`),
        );
        return undefined;
      },
    });
    expect(textOf(await openClients(server).call("any"))).toBe("done");
    expect(answers).toEqual([-32_601, -32_601, -32_601]);
  });

  test("hears that the server has other tools", async () => {
    const server = await startServer({
      "tools/call": ({ id, response }) => {
        const changed = { jsonrpc: "2.0", method: "notifications/tools/list_changed" };
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(`data: ${JSON.stringify(changed)}\n\n`);
        response.end(`data: ${JSON.stringify(rpcResult(id, said("done")))}\n\n`);
        return undefined;
      },
    });
    const { call } = openClients(server);
    expect(await call("any")).toMatchObject({ is_error: false, tools_changed: true });
  });

  test("has an answer that is bounded, and deep JSON does no harm", async () => {
    const server = await startServer({
      "tools/call": ({ params, id, response }) => {
        if (params["name"] === "long") return said("x".repeat(3 * MIB));
        if (params["name"] === "huge") return flood(response, "application/json");
        const deep = `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":${"[".repeat(100_000)}${"]".repeat(100_000)}}}`;
        return answerJson(response, deep);
      },
    });
    const { call } = openClients(server);
    expect(textOf(await call("long")).length).toBeLessThan(100_000);
    expect(textOf(await call("huge"))).toContain("Whether the tool ran is not known");
    expect(textOf(await call("deep"))).toContain("deep");
  });
});

describe("the way to a server", () => {
  test("is refused by the session's network, and recorded", async () => {
    const server = await startServer(listing(GOOD));
    const closed = openClients(server, { network: { type: "limited", hosts: ["other.test"] } });
    const { error, egress } = await closed.list();
    expect(error?.message).toContain("not among the allowed hosts of the environment");
    expect(egress).toMatchObject([{ host: "127.0.0.1", verdict: "refused" }]);
    expect(server.seen).toEqual([]);
    const named = openClients(server, { network: { type: "limited", hosts: ["127.0.0.1"] } });
    expect((await named.list()).error).toBeUndefined();
    const allowing = { type: "limited", hosts: [], mcp_servers: true } as const;
    expect((await openClients(server, { network: allowing }).list()).error).toBeUndefined();
  });

  test("leads to no address that may not be dialled", async () => {
    const server = await startServer(listing(GOOD));
    const { error } = await openClients(server, { allow: [] }).list();
    expect(error?.message).toContain("at no address that may be dialled");
    expect(server.seen).toEqual([]);
  });

  test("is safe only with the certificate of its host", async () => {
    const server = await startSecure();
    const trusting = openClients(server, { certificates: CERTIFICATE });
    expect((await trusting.list()).error).toBeUndefined();
    const others = openClients(server);
    expect((await others.list()).error?.message).toContain("no safe connection");
  });
});

describe("the token", () => {
  const offer = (url: string): McpOffer => ({
    type: "static_bearer",
    ...{ credential_id: "vcrd_1", vault_id: "vlt_1", mcp_server_url: url },
  });
  const TOKEN = "token-canary-1234567890";

  test("is sent with each request, is another after a 401, and is masked in what comes back", async () => {
    const credentials = new ScriptedCredentials();
    const tokens: unknown[] = [];
    let wanted = TOKEN;
    const checked = (handler: (token: string) => object): Handlers[string] => {
      return ({ headers, response }) => {
        tokens.push(headers["authorization"]);
        if (headers["authorization"] !== `Bearer ${wanted}`) return answerJson(response, {}, 401);
        return handler(String(headers["authorization"]));
      };
    };
    const server = await startServer({
      initialize: checked(() => INITIALIZED),
      "tools/list": checked((token) => ({
        tools: [{ ...GOOD, description: `you sent ${token}` }],
      })),
      "tools/call": checked((token) => said(`you sent ${token}, ${btoa(token)}`)),
    });
    credentials.set(offer(server.url), TOKEN);
    const { list, call } = openClients(server, { credentials });
    const { tools } = await list();
    expect(tools[0]?.description).toMatch(/^you sent Bearer \*+$/);
    expect(textOf(await call("any"))).not.toMatch(/canary|Y2FuYXJ5/);
    wanted = "renewed-canary-0987654321";
    credentials.renewals.set("vcrd_1", wanted);
    expect((await call("any")).is_error).toBe(false);
    expect(tokens.slice(-2)).toEqual([`Bearer ${TOKEN}`, `Bearer ${wanted}`]);
    expect(credentials.uses[0]).toEqual({ id: "vcrd_1", host: "127.0.0.1", purpose: "mcp" });
    // Beside these there are the notification that it is ready, and the stream to listen to.
    expect(credentials.counts.get("vcrd_1 127.0.0.1")).toBe(tokens.length + 2);
    wanted = "another";
    const refused = await call("any");
    expect(refused).toMatchObject({ is_error: true, tools_changed: true });
    expect(textOf(refused)).toContain("it does not take the session's token");
    expect((await list()).error?.type).toBe("authentication");
  });

  test("is masked also where a text is cut, and in what the server says went wrong, which is bounded", async () => {
    const credentials = new ScriptedCredentials();
    const around = (text: string, before: number) =>
      `${"x".repeat(before)}${text}${"y".repeat(200_000)}`;
    const server = await startServer({
      "tools/list": ({ headers }) => {
        const token = String(headers["authorization"]).slice("Bearer ".length);
        return { tools: [{ ...GOOD, description: around(token, 9_990) }] };
      },
      "tools/call": ({ id, params, headers, response }) => {
        const token = String(headers["authorization"]).slice("Bearer ".length);
        if (params["name"] === "cut") return said(around(token, 19_990));
        const error = { code: 1, message: around(token, 1_960) };
        return answerJson(response, { jsonrpc: "2.0", id, error });
      },
    });
    credentials.set(offer(server.url), TOKEN);
    const { list, call } = openClients(server, { credentials });
    const texts = [
      (await list()).tools[0]?.description,
      textOf(await call("cut")),
      textOf(await call("fail")),
    ];
    expect(texts.map((text) => /token|canary/.test(text ?? ""))).toEqual([false, false, false]);
    expect(texts.every((text) => text?.includes("x**"))).toBe(true);
    expect(texts[2]?.length).toBeLessThan(3_000);
  });

  test("that cannot stand in a header is in no message", async () => {
    const credentials = new ScriptedCredentials();
    const server = await startServer(listing(GOOD));
    credentials.set(offer(server.url), "canary\n1234567890");
    const { error } = await openClients(server, { credentials }).list();
    expect(error?.message).toContain("cannot be made");
    expect(error?.message).not.toContain("canary");
    expect(server.seen).toEqual([]);
  });

  test("is for its server alone, and without a server to ask nothing is sent", async () => {
    const credentials = new ScriptedCredentials();
    const server = await startServer(listing(GOOD));
    credentials.set(offer("https://other.test/mcp"), TOKEN);
    const { list, call } = openClients(server, { credentials });
    expect((await list()).error).toBeUndefined();
    expect(server.seen.every(({ headers }) => headers.authorization === undefined)).toBe(true);
    const before = server.seen.length;
    credentials.unavailable = "no server speaks";
    expect(textOf(await call("any"))).toMatch(/502.*no server speaks.*The tool was not run/);
    expect(server.seen).toHaveLength(before);
  });
});

test("an old server whose messages are to go elsewhere is not spoken to there", async () => {
  const other = await startServer({});
  const server = await startServer({
    initialize: ({ response }) => answerJson(response, {}, 405),
    GET: ({ response }) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`event: endpoint\ndata: ${other.url}\n\n`);
      return undefined;
    },
  });
  expect((await openClients(server).list()).error?.type).toBe("connection");
  expect(other.seen).toEqual([]);
});

describe("clients", () => {
  test("of sessions that nobody uses make room for others", async () => {
    const [one, two] = [await startServer(listing(GOOD)), await startServer(listing(GOOD))];
    const { clients, list } = openClients(one, { limits: { clientsMax: 1 } });
    const request = { workspaceId: "w", sessionId: "other", handId: "hand_2" };
    const network = { type: "unrestricted" as const };
    expect((await list()).error).toBeUndefined();
    const { servers } = await clients.listTools(
      { ...request, network, servers: [{ name: "two", url: two.url }] },
      new AbortController().signal,
    );
    expect(servers[0]?.tools).toHaveLength(1);
  });

  test("are closed when nobody uses them, and with their session's hand; the server is told", async () => {
    let now = 0;
    const server = await startServer({
      initialize: ({ response, id }) => {
        response.setHeader("mcp-session-id", "session");
        return answerJson(response, rpcResult(id, INITIALIZED));
      },
      "tools/call": () => said("hello"),
      DELETE: ({ response }) => void response.writeHead(204).end(),
    });
    const { clients, call } = openClients(server, { now: () => now });
    const goodbyes = () => server.seen.filter(({ method }) => method === "DELETE").length;
    await call("any");
    now += MCP_LIMITS.idleMs - 1;
    clients.closeIdle();
    await call("any");
    expect(goodbyes()).toBe(0);
    now += MCP_LIMITS.idleMs;
    clients.closeIdle();
    await until(() => goodbyes() === 1);
    expect(textOf(await call("any"))).toBe("hello");
    clients.closeHand("another");
    clients.closeHand("hand_1");
    await until(() => goodbyes() === 2);
  });
});

function status(code: number): Handlers {
  return { initialize: ({ response }) => answerJson(response, { error: "no" }, code) };
}

function redirect(location: string): Handlers {
  return { initialize: ({ response }) => void response.writeHead(307, { location }).end() };
}

function nested(depth: number): object {
  let schema: object = { type: "object" };
  for (let at = 0; at < depth; at++) schema = { type: "object", properties: { a: schema } };
  return schema;
}

/** Sends until it is cut off, without an end of anything. */
function flood(response: ServerResponse, type: string): undefined {
  response.writeHead(200, { "content-type": type });
  const chunk = "x".repeat(MIB);
  const more = () => {
    while (!response.destroyed && response.write(chunk));
    if (!response.destroyed) response.once("drain", more);
  };
  more();
}

type Watched = Awaited<ReturnType<typeof startServer>>;

async function arrived(server: Watched, method: string): Promise<void> {
  await until(() => server.seen.some(({ body }) => body.includes(`"${method}"`)));
}

async function until(isReached: () => boolean): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!isReached()) {
    if (Date.now() > deadline) throw new Error("it does not come about");
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function startSecure() {
  const server: Server = createServer(
    { cert: CERTIFICATE, key: CERTIFICATE_KEY },
    (request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk) => chunks.push(chunk));
      request.on("end", () => {
        if (request.method !== "POST") return void response.writeHead(405).end();
        const { id, method } = JSON.parse(Buffer.concat(chunks).toString());
        if (id === undefined) return void response.writeHead(202).end();
        answerJson(response, rpcResult(id, method === "initialize" ? INITIALIZED : { tools: [] }));
      });
    },
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `https://127.0.0.1:${port}/mcp` };
}
