import { describe, expect, test } from "vitest";
import { type Body, openWorld } from "./world.testsuite.ts";

const REQUEST_ID = expect.stringMatching(/^req_\w{22}$/);

function envelope(type: string, message: unknown, details?: object) {
  return {
    type: "error",
    request_id: REQUEST_ID,
    error: { type, message, ...(details !== undefined && { details }) },
  };
}

describe("authentication", () => {
  test("takes a key as bearer and as x-api-key, and tells the workspace", async () => {
    const world = await openWorld();
    const bearer = await world.request("GET", "/v1/agents");
    const apiKey = await world.app.request("/v1/agents", { headers: { "x-api-key": world.key } });
    expect([bearer.status, apiKey.status]).toEqual([200, 200]);
    expect(bearer.headers.get("anthropic-workspace-id")).toBe(world.workspaceId);
    expect(bearer.headers.get("request-id")).toEqual(REQUEST_ID);
  });

  test.each([
    ["no key", {}],
    ["an unknown key", { authorization: "Bearer sk-nobody" }],
    ["another scheme", { authorization: "Basic abc" }],
    ["an empty key", { "x-api-key": "" }],
    ["a key that is far too long", { "x-api-key": "k".repeat(10_000) }],
    ["two keys", { authorization: "Bearer one", "x-api-key": "two" }],
  ])("answers 401 to %s", async (_name, headers) => {
    const world = await openWorld();
    const response = await world.app.request("/v1/agents", { headers });
    expect(response.status).toBe(401);
    expect(await response.json()).toEqual(envelope("authentication_error", expect.any(String)));
  });

  test("lets a reader read and nothing else", async () => {
    const world = await openWorld();
    const reader = await world.addKey("read_only", world.workspaceId);
    const headers = { authorization: `Bearer ${reader.key}` };
    const read = await world.request("GET", "/v1/agents", undefined, headers);
    const write = await world.request("POST", "/v1/agents", {}, headers);
    expect([read.status, write.status]).toEqual([200, 403]);
    expect(write.body.error.type).toBe("permission_error");
  });

  test("takes the caller's own workspace and refuses another's", async () => {
    const world = await openWorld();
    const ask = (id: string) =>
      world.request("GET", "/v1/agents", undefined, { "anthropic-workspace-id": id });
    expect((await ask(world.workspaceId)).status).toBe(200);
    expect((await ask("wrkspc_other")).status).toBe(403);
  });
});

describe("versions and queries", () => {
  test.each(["2023-06-01", "2026-10-21"])("speaks anthropic-version %s", async (version) => {
    const world = await openWorld();
    const headers = { "anthropic-version": version, "anthropic-beta": "managed-agents-2026-04-01" };
    expect((await world.request("GET", "/v1/agents?beta=true", undefined, headers)).status).toBe(
      200,
    );
  });

  test("refuses a version it does not speak", async () => {
    const world = await openWorld();
    const headers = { "anthropic-version": "1999-01-01" };
    const { status, body } = await world.request("GET", "/v1/agents", undefined, headers);
    expect([status, body.error.message]).toEqual([400, expect.stringContaining("1999-01-01")]);
  });

  test.each([
    ["/v1/agents?colour=red", "colour"],
    ["/v1/agents?limit=0", "limit"],
    ["/v1/agents?limit=1.5", "limit"],
    ["/v1/agents?limit=1&limit=2", "limit"],
    ["/v1/agents?created_at[gte]=yesterday", "created_at[gte]"],
    ["/v1/agents?page=forged", "page"],
    ["/v1/sessions?statuses[]=asleep", "statuses"],
    ["/v1/agents/agent_1?limit=2", "limit"],
  ])("refuses %s by name", async (path, name) => {
    const world = await openWorld();
    const { status, body } = await world.request("GET", path);
    expect([status, body]).toEqual([
      400,
      envelope("invalid_request_error", expect.stringContaining(name)),
    ]);
  });

  test("takes an empty value as absent", async () => {
    const world = await openWorld();
    expect((await world.request("GET", "/v1/agents?limit=&page=")).status).toBe(200);
  });
});

describe("bodies", () => {
  const post = async (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>) => {
    const world = await openWorld();
    const response = await world.app.request("/v1/agents", {
      method: "POST",
      headers: { authorization: `Bearer ${world.key}`, ...headers },
      body,
    });
    return { status: response.status, body: (await response.json()) as Body, logged: world.logged };
  };
  const json = { "content-type": "application/json" };

  test.each<[string, string | Uint8Array<ArrayBuffer>, Record<string, string>, string | undefined]>(
    [
      ["broken JSON", "{", json, undefined],
      ["no object", "[]", json, undefined],
      ["a form", "a=1", { "content-type": "application/x-www-form-urlencoded" }, undefined],
      [
        "another charset",
        "{}",
        { "content-type": "application/json; charset=latin1" },
        "unsupported_charset",
      ],
      [
        "bytes that are not UTF-8",
        new Uint8Array([0x22, 0xff, 0x22]),
        json,
        "request_body_encoding_invalid",
      ],
      [
        "compression",
        "{}",
        { ...json, "content-encoding": "gzip" },
        "request_body_encoding_unsupported",
      ],
      ["very deep nesting", "[".repeat(100_000) + "]".repeat(100_000), json, undefined],
      ["a NUL character", '{"name":"a\\u0000b","model":"m"}', json, undefined],
      ["a lone surrogate", '{"name":"a\\ud800b","model":"m"}', json, undefined],
      ["nothing", "", {}, undefined],
    ],
  )("answers 400 to %s", async (_name, body, headers, code) => {
    const answer = await post(body, headers);
    expect([answer.status, answer.body]).toEqual([
      400,
      envelope(
        "invalid_request_error",
        expect.any(String),
        code === undefined ? undefined : { error_code: code },
      ),
    ]);
    expect(answer.logged).toEqual([]);
  });

  test("answers 413 to a body over 32 MB, whether its length is declared or not", async () => {
    const big = new Uint8Array(32 * 1024 * 1024 + 1).fill(0x20);
    expect((await post(big, { ...json, "content-length": String(big.length) })).status).toBe(413);
    const undeclared = await post(big, json);
    expect([undeclared.status, undeclared.body.error.type]).toEqual([413, "request_too_large"]);
  });

  test("takes a body of exactly one object with any JSON media type", async () => {
    const body = JSON.stringify({ name: "a", model: "m" });
    for (const type of [
      "application/json",
      "application/json; charset=UTF-8",
      "application/vnd.x+json",
    ]) {
      expect((await post(body, { "content-type": type })).status).toBe(200);
    }
  });
});

describe("errors", () => {
  test("answers 404 in the envelope to what is not there", async () => {
    const world = await openWorld();
    const known = await world.request("GET", "/v1/sessions/sesn_nobody");
    const unknown = await world.request("GET", "/v1/colours");
    const odd = await world.request("GET", "/v1/sessions/sesn_%00");
    expect([known.status, unknown.status, odd.status]).toEqual([404, 404, 404]);
    expect(known.body).toEqual(envelope("not_found_error", expect.stringContaining("sesn_nobody")));
    expect(unknown.body).toEqual(envelope("not_found_error", expect.any(String)));
  });

  test.each([
    ["POST", "/v1/dreams"],
    ["GET", "/v1/environments/env_1/work/poll"],
    ["POST", "/v1/deployments/depl_1/run"],
  ])("answers 501 by name, never to be retried, to %s %s", async (method, path) => {
    const world = await openWorld();
    const { status, body, headers } = await world.request(method, path);
    expect([status, headers.get("x-should-retry")]).toEqual([501, "false"]);
    expect(body).toEqual(
      envelope("invalid_request_error", expect.stringContaining("not implemented")),
    );
  });

  test("does not send back at length what was asked for", async () => {
    const world = await openWorld();
    const { status, body } = await world.request("GET", `/v1/agents/${"a".repeat(10_000)}`);
    expect([status, body.error.message.length]).toEqual([404, 2_001]);
  });

  test.each([
    ["PUT", "/v1/agents/agent_1", "GET, HEAD, POST"],
    ["DELETE", "/v1/agents", "GET, HEAD, POST"],
    ["OPTIONS", "/v1/sessions/sesn_1/events/stream", "GET, HEAD"],
    ["PATCH", "/v1/deployments/depl_1", "GET, HEAD, POST"],
    ["POST", "/openapi.json", "GET, HEAD"],
  ])("answers 405 to %s %s, and says what it takes", async (method, path, allow) => {
    const world = await openWorld();
    const { status, body, headers } = await world.request(method, path);
    expect([status, headers.get("allow")]).toEqual([405, allow]);
    expect(body).toEqual(envelope("invalid_request_error", expect.stringContaining(method)));
  });

  test("tells the official client not to retry a conflict", async () => {
    const world = await openWorld();
    await world.request("POST", "/v1/environments", { name: "one" });
    const again = await world.request("POST", "/v1/environments", { name: "one" });
    expect([again.status, again.headers.get("x-should-retry")]).toEqual([409, "false"]);
  });

  test("answers 500 without a word about a bug, and logs it once", async () => {
    const world = await openWorld();
    world.app.get("/v1/bug", () => {
      throw new Error("the secret is 42");
    });
    const { status, body } = await world.request("GET", "/v1/bug");
    expect([status, body]).toEqual([500, envelope("api_error", "Internal server error")]);
    expect(world.logged).toHaveLength(1);
    expect(world.logged[0]?.fields).toMatchObject({ request_id: body.request_id });
  });

  test("says at /health and /ready how it is, without a key", async () => {
    const world = await openWorld();
    const health = await world.app.request("/health");
    expect([health.status, await health.json()]).toEqual([200, { status: "ok" }]);
    world.shutdown.abort();
    const ready = await world.app.request("/ready");
    expect([ready.status, await ready.json()]).toEqual([
      503,
      { status: "unavailable", message: "the server is shutting down" },
    ]);
  });
});
