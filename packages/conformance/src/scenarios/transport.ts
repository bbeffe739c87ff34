import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { accepted, assertRefused, refused } from "../support/expect.ts";
import { newAgent, sharedAgent } from "../support/fixtures.ts";

/** What a request may look like: keys, workspaces, headers, paths. */
export const transport: readonly Scenario[] = [
  scenario(
    "a bearer key is let in, an unknown one is not",
    {
      verifies: ["transport.auth.bearer", "transport.auth.unknown-key", "transport.error.401"],
      rows: [1],
    },
    async (t) => {
      await t.client.beta.agents.list();
      const stranger = t.clientWith({ apiKey: "nobody-knows-this-key" });
      const error = await refused(stranger.beta.agents.list(), {
        status: 401,
        type: "authentication_error",
      });
      assert.equal(error.constructor.name, "AuthenticationError");
    },
  ),
  scenario(
    "a key may come in other headers, and never in none",
    {
      verifies: [
        "transport.auth.x-api-key",
        "transport.auth.none",
        "transport.auth.scheme",
        "transport.auth.two-keys",
        "transport.auth.token",
      ],
    },
    async (t) => {
      const { apiKey } = t.options;
      const ask = (headers: Record<string, string>) =>
        t.request("GET", "/v1/agents", { key: null, headers });
      accepted(await ask({ "x-api-key": apiKey }));
      accepted(await ask({ "x-api-key": apiKey, authorization: `Bearer ${apiKey}` }));
      await t.clientWith({ apiKey: null, authToken: apiKey }).beta.agents.list();
      for (const headers of [
        {},
        { authorization: `Basic ${apiKey}` },
        { authorization: apiKey },
        { authorization: "Bearer " },
        { "x-api-key": "another-key-of-nobody", authorization: `Bearer ${apiKey}` },
      ]) {
        assertRefused(await ask(headers), { status: 401, type: "authentication_error" });
      }
    },
  ),
  scenario(
    "the workspace of the key may be named, and no other",
    {
      verifies: [
        "transport.workspace.match",
        "transport.workspace.mismatch",
        "transport.workspace.absent",
        "transport.answer.workspace",
        "transport.error.403",
      ],
      rows: [9],
    },
    async (t) => {
      const first = await t.request("GET", "/v1/agents");
      const workspace_id = first.headers.get("anthropic-workspace-id") ?? "";
      assert.match(workspace_id, /^wrkspc_/);
      await t.client.beta.agents.list({ workspace_id });
      const ask = (id: string) =>
        t.request("GET", "/v1/agents", { headers: { "anthropic-workspace-id": id } });
      accepted(await ask(""));
      const other = t.client.beta.agents.list({ workspace_id: "wrkspc_nobody" });
      const error = await refused(other, { status: 403, type: "permission_error" });
      assert.equal(error.constructor.name, "PermissionDeniedError");
    },
  ),
  scenario(
    "odd ids in paths are decoded and not found",
    { verifies: ["transport.path.encoded", "transport.path.dots", "transport.id.opaque"] },
    async (t) => {
      for (const id of ["a/b c", "agent_é", "agent_*", "x".repeat(500), "'; drop table agents"]) {
        await refused(t.client.beta.agents.retrieve(id), { status: 404, type: "not_found_error" });
      }
      const agent = await sharedAgent(t);
      assert.equal((await t.client.beta.agents.retrieve(agent.id)).id, agent.id);
    },
  ),
  scenario(
    "methods are those of the contract",
    { verifies: ["transport.verbs", "transport.error.unknown-path", "transport.beta-query"] },
    async (t) => {
      const agent = await newAgent(t);
      const path = `/v1/agents/${agent.id}`;
      accepted(await t.request("POST", path, { body: { description: "changed" } }));
      for (const method of ["PUT", "DELETE"]) {
        const answer = await t.request(method, path, { body: {} });
        assertRefused(answer, { status: 405, type: "invalid_request_error" });
        assert.match(answer.headers.get("allow") ?? "", /GET.*POST/);
      }
      assertRefused(await t.request("GET", "/v1/colours"), {
        status: 404,
        type: "not_found_error",
      });
      accepted(await t.request("GET", `${path}?beta=true`));
      accepted(await t.request("GET", path));
    },
  ),
  scenario(
    "headers that nobody asked for do nothing",
    {
      verifies: [
        "transport.headers.client",
        "transport.headers.unknown",
        "transport.headers.helper",
        "transport.accept",
      ],
    },
    async (t) => {
      await t
        .clientWith({ defaultHeaders: { "x-mine": "1", traceparent: "garbage" } })
        .beta.agents.list();
      for (const headers of [
        { "x-stainless-helper": "environments-worker,session-tool-runner" },
        { "x-stainless-timeout": "600", "x-stainless-retry-count": "0" },
        { accept: "text/html" },
        { accept: "application/binary" },
        { accept: "" },
      ]) {
        const answer = await t.request("GET", "/v1/agents?limit=1", { headers });
        accepted(answer);
        assert.match(answer.headers.get("content-type") ?? "", /^application\/json/);
      }
    },
  ),
  scenario(
    "a POST without a body needs no content type",
    { verifies: ["transport.body-less", "transport.body-less.object"], rows: [10] },
    async (t) => {
      const made = await Promise.all(Array.from({ length: 3 }, () => newAgent(t)));
      const [first, second, third] = made.map(({ id }) => id);
      assert.notEqual((await t.client.beta.agents.archive(first ?? "")).archived_at, null);
      accepted(await t.request("POST", `/v1/agents/${second}/archive`, { body: {} }));
      const more = await t.request("POST", `/v1/agents/${third}/archive`, { body: { now: true } });
      assertRefused(more, { status: 400, says: /now/ });
      const agent = await t.client.beta.agents.retrieve(third ?? "");
      assert.equal(agent.archived_at, null);
    },
  ),
  scenario(
    "two versions of the API are spoken",
    { verifies: ["transport.version.known", "transport.version.unknown"] },
    async (t) => {
      const ask = (headers: Record<string, string>) =>
        t.request("GET", "/v1/agents?limit=1", { headers });
      accepted(await ask({}));
      accepted(await ask({ "anthropic-version": "2023-06-01" }));
      accepted(await ask({ "anthropic-version": "2026-10-21" }));
      const answer = await ask({ "anthropic-version": "2020-01-01" });
      assertRefused(answer, { status: 400, says: /anthropic-version.*2020-01-01/ });
    },
  ),
  scenario(
    "beta names are taken as they come",
    { verifies: ["transport.beta.absent", "transport.beta.list", "transport.beta.legacy"] },
    async (t) => {
      accepted(await t.request("GET", "/v1/agents?limit=1"));
      await t.client.beta.agents.list({ betas: ["zz-1", "zz-2"] });
      await t.client.beta.files.list({ betas: ["files-api-2025-04-14"] });
      await t.client.beta.skills.list({ betas: ["skills-2025-10-02"] });
      const headers = { "anthropic-beta": "zz-1,managed-agents-2026-04-01" };
      accepted(await t.request("GET", "/v1/sessions?limit=1", { headers }));
    },
  ),
  scenario(
    "the GA namespaces read the same answers",
    { verifies: ["transport.beta.ga"], rows: [121] },
    async (t) => {
      const file = new File(["text"], "ga.txt", { type: "text/plain" });
      const { id } = await t.client.beta.files.upload({ file });
      const ga = await t.client.files.retrieveMetadata(id);
      assert.deepEqual({ ...ga }, { ...(await t.client.beta.files.retrieveMetadata(id)) });
      const model = await t.client.models.retrieve(t.model);
      assert.equal(model.id, (await t.client.beta.models.retrieve(t.model)).id);
      assert.ok(Array.isArray((await t.client.skills.list()).data));
    },
  ),
];
