import { describe, expect, test } from "vitest";
import { type Body, openHarness, openWorld } from "../world.testsuite.ts";

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const message = (text: string) => ({ type: "user.message", content: [{ type: "text", text }] });

describe("create", () => {
  test("answers the whole session, idle, with the agent's snapshot", async () => {
    const world = await openWorld();
    const params = await world.prepare();
    const { status, body } = await world.request("POST", "/v1/sessions", {
      ...params,
      title: "Scouting",
      metadata: { team: "a" },
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      id: expect.stringMatching(/^sesn_/),
      type: "session",
      status: "idle",
      title: "Scouting",
      environment_id: params.environment_id,
      agent: {
        id: params.agent,
        type: "agent",
        version: 1,
        name: "scout",
        description: null,
        system: null,
        model: { id: "claude-opus-5", effort: { type: "high" }, speed: "standard" },
        tools: [],
        mcp_servers: [],
        skills: [],
        execution_identity: { type: "service_account" },
        multiagent: null,
      },
      metadata: { team: "a" },
      resources: [],
      vault_ids: [],
      deployment_id: null,
      budget: null,
      outcome_evaluations: [],
      stats: { duration_seconds: 0 },
      usage: {},
      created_at: TIME,
      updated_at: TIME,
      archived_at: null,
    });
    const again = await world.request("GET", `/v1/sessions/${body.id}`);
    expect(again.body).toEqual({ ...body, stats: { duration_seconds: expect.any(Number) } });
  });

  test("overrides the agent for this session alone", async () => {
    const world = await openWorld();
    const params = await world.prepare();
    const { body } = await world.request("POST", "/v1/sessions", {
      ...params,
      agent: { type: "agent_with_overrides", id: params.agent, system: "Be brief." },
    });
    const agent = await world.request("GET", `/v1/agents/${params.agent}`);
    expect([body.agent.system, agent.body.system]).toEqual(["Be brief.", null]);
  });

  test("is born running with initial events, which wait in the inbox", async () => {
    const world = await openWorld();
    const params = await world.prepare();
    const { body } = await world.request("POST", "/v1/sessions", {
      ...params,
      initial_events: [message("one"), message("two")],
    });
    expect(body.status).toBe("running");
    const events = await world.request("GET", `/v1/sessions/${body.id}/events`);
    expect(events.body.data).toMatchObject([
      { ...message("one"), processed_at: null },
      { ...message("two"), processed_at: null },
    ]);
  });

  test("mounts copies of files where they were asked for", async () => {
    const world = await openWorld();
    const params = await world.prepare();
    await world.putFile("file_1");
    const { status, body } = await world.request("POST", "/v1/sessions", {
      ...params,
      resources: [
        { type: "file", file_id: "file_1" },
        { type: "file", file_id: "file_1", mount_path: "data//./in.csv" },
        { type: "file", file_id: "file_1", mount_path: "/mnt/session/uploads/out.csv" },
      ],
    });
    expect(status).toBe(200);
    const paths = ["file_1", "data/in.csv", "out.csv"].map(
      (name) => `/mnt/session/uploads/${name}`,
    );
    expect(body.resources).toEqual(
      paths.map((mount_path) => ({
        type: "file",
        id: expect.stringMatching(/^sesrsc_/),
        file_id: expect.stringMatching(/^file_\w{22}$/),
        mount_path,
        created_at: TIME,
        updated_at: TIME,
      })),
    );
    const key = { workspaceId: world.workspaceId, sessionId: body.id };
    const session = await world.store.sessions.find(key);
    expect(session?.recipe).toEqual({
      provider: "bubblewrap",
      base: { type: "host" },
      network: { type: "unrestricted" },
      mounts: paths.map((mount_path) => ({
        type: "file",
        mount_path,
        sha256: "a".repeat(64),
        size_bytes: 7,
        filename: "data.csv",
      })),
    });
    const list = await world.request("GET", `/v1/sessions/${body.id}/resources`);
    expect(list.body).toEqual({ data: body.resources, next_page: null });
    const one = `/v1/sessions/${body.id}/resources/${body.resources[1]?.id}`;
    expect((await world.request("GET", one)).body).toEqual(body.resources[1]);
    expect((await world.request("GET", `${one}x`)).status).toBe(404);
    const copy = await world.store.files.find(world.workspaceId, body.resources[0]?.file_id ?? "");
    expect(copy).toMatchObject({ session_id: body.id, downloadable: false });
  });

  test.each([
    ["leaves the folder", "../secret"],
    ["leaves it from within", "a/../../secret"],
    ["names a folder", "a/"],
    ["names nothing", "/mnt/session/uploads"],
    ["holds a control character", "a\nb"],
    ["has an endless name", "n".repeat(300)],
  ])("refuses a mount path that %s", async (_name, mount_path) => {
    const world = await openWorld();
    await world.putFile("file_1");
    const { status, body } = await world.request("POST", "/v1/sessions", {
      ...(await world.prepare()),
      resources: [{ type: "file", file_id: "file_1", mount_path }],
    });
    expect([status, body.error.message]).toEqual([
      400,
      expect.stringContaining("resources.0.mount_path"),
    ]);
  });

  test.each([[["a", "a"]], [["a", "a/b"]], [["b/c", "a", "b"]]])(
    "refuses files in each other's place: %j",
    async (paths) => {
      const world = await openWorld();
      await world.putFile("file_1");
      const { status } = await world.request("POST", "/v1/sessions", {
        ...(await world.prepare()),
        resources: paths.map((mount_path) => ({ type: "file", file_id: "file_1", mount_path })),
      });
      expect(status).toBe(400);
    },
  );

  test("makes nothing when one part cannot be had", async () => {
    const world = await openWorld();
    await world.putFile("file_1");
    const params = await world.prepare();
    const refusals: [object, number][] = [
      [{ environment_id: "env_nobody" }, 404],
      [{ agent: "agent_nobody" }, 404],
      [{ agent: { type: "agent", id: params.agent, version: 7 } }, 404],
      [
        {
          resources: [
            { type: "file", file_id: "file_1" },
            { type: "file", file_id: "file_2" },
          ],
        },
        404,
      ],
      [{ initial_events: [message("hi"), message(" ")] }, 400],
      [
        { initial_events: [{ type: "system.message", content: [{ type: "text", text: "a" }] }] },
        400,
      ],
      [{ initial_events: Array.from({ length: 51 }, () => message("hi")) }, 400],
      [{ metadata: { key: "v".repeat(513) } }, 400],
      [{ colour: "red" }, 400],
      [{ vault_ids: ["vlt_1"] }, 404],
      [{ budget: { type: "limit", max_list_cost: { amount: "5", currency: "EUR" } } }, 400],
      [{ budget: { type: "limit", max_list_cost: { amount: "0", currency: "USD" } } }, 400],
      [{ resources: [{ type: "memory_store", memory_store_id: "memstore_1" }] }, 404],
      [{ agent: { type: "agent_with_overrides", id: params.agent, model: null } }, 400],
    ];
    for (const [change, status] of refusals) {
      const answer = await world.request("POST", "/v1/sessions", { ...params, ...change });
      expect([change, answer.status]).toEqual([change, status]);
    }
    expect((await world.request("GET", "/v1/sessions")).body.data).toEqual([]);
    const files = await world.store.files.list(world.workspaceId, {}, { limit: 9, order: "asc" });
    expect(files.map((file) => file.id)).toEqual(["file_1"]);
  });

  test("refuses archived agents and environments", async () => {
    const world = await openWorld();
    const first = await world.prepare();
    await world.request("POST", `/v1/environments/${first.environment_id}/archive`);
    const inEnvironment = await world.request("POST", "/v1/sessions", first);
    const second = await world.prepare();
    await world.request("POST", `/v1/agents/${second.agent}/archive`);
    const ofAgent = await world.request("POST", "/v1/sessions", second);
    expect([inEnvironment.status, ofAgent.status]).toEqual([400, 400]);
    expect(inEnvironment.body.error.details).toEqual({ error_code: "environment_archived" });
  });
});

describe("update", () => {
  test("tells exactly what changed in one event, and nothing when nothing did", async () => {
    const world = await openWorld();
    const { body: session } = await world.request("POST", "/v1/sessions", {
      ...(await world.prepare()),
      metadata: { a: "1", b: "2" },
    });
    const path = `/v1/sessions/${session.id}`;
    const changed = await world.request("POST", path, {
      title: "New",
      metadata: { a: null, c: "3" },
    });
    expect(changed.body).toMatchObject({ title: "New", metadata: { b: "2", c: "3" } });
    await world.request("POST", path, { title: "New", metadata: { b: "2" } });
    await world.request("POST", path, { metadata: { b: null, c: null }, title: null });
    const { body } = await world.request("GET", `${path}/events`);
    expect(body.data).toEqual([
      {
        id: expect.stringMatching(/^sevt_/),
        type: "session.updated",
        title: "New",
        metadata: { b: "2", c: "3" },
        processed_at: TIME,
      },
      { id: expect.any(String), type: "session.updated", title: null, processed_at: TIME },
    ]);
  });

  test("replaces the agent's tools while idle and refuses to while running", async () => {
    const world = await openWorld();
    const { body: session } = await world.request("POST", "/v1/sessions", await world.prepare());
    const path = `/v1/sessions/${session.id}`;
    const update = { agent: { tools: [{ type: "agent_toolset_20260401" }] } };
    const { body } = await world.request("POST", path, update);
    expect(body.agent.tools).toMatchObject([{ type: "agent_toolset_20260401", configs: [] }]);
    const events = await world.request("GET", `${path}/events`);
    expect(events.body.data).toMatchObject([{ type: "session.updated", agent: body.agent }]);
    await world.request("POST", `${path}/events`, { events: [message("go")] });
    expect((await world.request("POST", path, { agent: { tools: [] } })).status).toBe(400);
  });

  test.each([
    [{ vault_ids: [] }, 400],
    [{ budget: { type: "limit", max_list_cost: { amount: "5", currency: "USD" } } }, 400],
    [
      {
        agent: {
          tools: [{ type: "mcp_toolset", mcp_server_name: "another" }],
          mcp_servers: [{ type: "url", name: "s", url: "https://example.com/mcp" }],
        },
      },
      400,
    ],
    [{ environment_id: "env_1" }, 400],
  ])("refuses %j", async (update, status) => {
    const world = await openWorld();
    const { body: session } = await world.request("POST", "/v1/sessions", await world.prepare());
    const answer = await world.request("POST", `/v1/sessions/${session.id}`, update);
    expect(answer.status).toBe(status);
  });
});

describe("list", () => {
  test("pages both ways, newest first", async () => {
    const world = await openWorld();
    const params = await world.prepare();
    const ids: string[] = [];
    for (let count = 0; count < 5; count++) {
      ids.unshift((await world.request("POST", "/v1/sessions", params)).body.id);
    }
    // Those of one millisecond are ordered by id, so the order is what the list of all says.
    const all = (await world.request("GET", "/v1/sessions")).body;
    expect(all.data.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    expect([all.next_page, all.prev_page]).toEqual([null, null]);
    const page = async (cursor?: string | null) =>
      (await world.request("GET", `/v1/sessions?limit=2${cursor ? `&page=${cursor}` : ""}`)).body;
    const first = await page();
    const second = await page(first.next_page);
    const third = await page(second.next_page);
    expect([...first.data, ...second.data, ...third.data].map(({ id }) => id)).toEqual(
      all.data.map(({ id }) => id),
    );
    expect([first.prev_page, third.next_page]).toEqual([null, null]);
    const back = await page(third.prev_page);
    expect(back.data.map(({ id }) => id)).toEqual(second.data.map(({ id }) => id));
    const other = await world.request("GET", `/v1/sessions?order=asc&page=${first.next_page}`);
    expect(other.status).toBe(400);
  });

  test("shows at most a hundred in a page, whatever is asked for", async () => {
    const world = await openWorld();
    const { body: session } = await world.request("POST", "/v1/sessions", await world.prepare());
    const key = { workspaceId: world.workspaceId, sessionId: session.id };
    const template = await world.store.sessions.find(key);
    await world.store.write(async (tx) => {
      for (let count = 0; count < 101 && template !== undefined; count++) {
        await tx.sessions.insert({ ...template, id: `sesn_copy_${count}` });
      }
    });
    const { body } = await world.request("GET", "/v1/sessions?limit=1000");
    expect([body.data.length, body.next_page]).toEqual([100, expect.any(String)]);
    const rest = await world.request("GET", `/v1/sessions?limit=1000&page=${body.next_page}`);
    expect([rest.body.data.length, rest.body.next_page]).toEqual([2, null]);
  });

  test("filters by agent, status, archive and what no session has", async () => {
    const world = await openWorld();
    const params = await world.prepare();
    const { body: one } = await world.request("POST", "/v1/sessions", params);
    const { body: two } = await world.request("POST", "/v1/sessions", {
      ...(await world.prepare()),
      initial_events: [message("go")],
    });
    const { body: three } = await world.request("POST", "/v1/sessions", params);
    await world.request("POST", `/v1/sessions/${three.id}/archive`);
    const ids = async (query: string) => {
      const { body } = await world.request("GET", `/v1/sessions?order=asc&${query}`);
      return body.data.map(({ id }) => id);
    };
    expect((await ids("")).toSorted()).toEqual([one.id, two.id].toSorted());
    expect(await ids(`agent_id=${params.agent}&agent_version=1`)).toEqual([one.id]);
    expect(await ids("statuses[]=running&statuses[]=rescheduling")).toEqual([two.id]);
    expect(await ids("statuses[]=terminated&include_archived=true")).toEqual([three.id]);
    expect(await ids("deployment_id=depl_1")).toEqual([]);
    expect(await ids("agent_version=7")).toHaveLength(2);
  });

  test("never shows another workspace's session", async () => {
    const world = await openWorld();
    const { body: session } = await world.request("POST", "/v1/sessions", await world.prepare());
    const stranger = await world.addKey("admin");
    const headers = { authorization: `Bearer ${stranger.key}` };
    const list = await world.request("GET", "/v1/sessions", undefined, headers);
    expect(list.body.data).toEqual([]);
    for (const path of ["", "/events", "/threads"]) {
      const one = await world.request(
        "GET",
        `/v1/sessions/${session.id}${path}`,
        undefined,
        headers,
      );
      expect(one.status).toBe(404);
    }
  });
});

describe("archive and delete", () => {
  test("archiving terminates for good and is told in the log", async () => {
    const world = await openWorld();
    const { body: session } = await world.request("POST", "/v1/sessions", await world.prepare());
    const path = `/v1/sessions/${session.id}`;
    const { body } = await world.request("POST", `${path}/archive`);
    expect(body).toMatchObject({ status: "terminated", archived_at: TIME });
    expect((await world.request("POST", `${path}/archive`)).body.archived_at).toBe(
      body.archived_at,
    );
    const events = await world.request("GET", `${path}/events`);
    expect(events.body.data.map(({ type }) => type)).toEqual([
      "session.thread_status_terminated",
      "session.status_terminated",
    ]);
    const sent = await world.request("POST", `${path}/events`, { events: [message("hello?")] });
    expect(sent.status).toBe(400);
    expect((await world.request("POST", path, { title: "x" })).status).toBe(400);
  });

  test("neither touches a running session, nor one whose input waits", async () => {
    const world = await openWorld();
    const { body: session } = await world.request("POST", "/v1/sessions", {
      ...(await world.prepare()),
      initial_events: [message("go")],
    });
    const path = `/v1/sessions/${session.id}`;
    expect((await world.request("POST", `${path}/archive`)).status).toBe(400);
    expect((await world.request("DELETE", path)).status).toBe(400);
    await (await openHarness(world, session.id)).turn("done");
    expect((await world.request("GET", path)).body.status).toBe("idle");
    expect((await world.request("DELETE", path)).status).toBe(200);
  });

  test("deleting removes the session, its files and its hand", async () => {
    const world = await openWorld();
    await world.putFile("file_1");
    const { body: session } = await world.request("POST", "/v1/sessions", {
      ...(await world.prepare()),
      resources: [{ type: "file", file_id: "file_1" }],
    });
    const key = { workspaceId: world.workspaceId, sessionId: session.id };
    const hand = (await world.store.sessions.find(key))?.hand_id;
    await world.store.write((tx) => tx.queue.wake(key));
    const harness = await openHarness(world, session.id);
    await harness.append([harness.event("drover.call_started", { call_id: "sevt_1" })]);
    const { body } = await world.request("DELETE", `/v1/sessions/${session.id}`);
    expect(body).toEqual({ id: session.id, type: "session_deleted" });
    expect([await world.undisposed(), world.wakeUps()]).toEqual([[hand], 1]);
    expect(await world.loose()).toEqual(["a".repeat(64)]);
    for (const path of ["", "/events", "/threads"]) {
      expect((await world.request("GET", `/v1/sessions/${session.id}${path}`)).status).toBe(404);
    }
    expect((await world.request("DELETE", `/v1/sessions/${session.id}`)).status).toBe(404);
    const file_id = session.resources[0]?.file_id ?? "";
    expect(await world.store.files.find(world.workspaceId, file_id)).toBeUndefined();
  });
});

describe("threads", () => {
  test("shows the primary thread alone, and never archives it", async () => {
    const world = await openWorld();
    const { body: session } = await world.request("POST", "/v1/sessions", await world.prepare());
    const path = `/v1/sessions/${session.id}/threads`;
    const { body } = await world.request("GET", path);
    const { multiagent: _multiagent, ...agent } = session.agent;
    expect(body).toEqual({
      data: [
        {
          id: expect.stringMatching(/^sthr_/),
          type: "session_thread",
          session_id: session.id,
          parent_thread_id: null,
          workflow_run_id: null,
          agent,
          status: "idle",
          stats: null,
          usage: null,
          created_at: TIME,
          updated_at: TIME,
          archived_at: null,
        },
      ],
      next_page: null,
    });
    const [thread] = body.data;
    expect((await world.request("GET", `${path}/${thread?.id}`)).body).toEqual(thread);
    expect((await world.request("POST", `${path}/${thread?.id}/archive`)).status).toBe(400);
    expect((await world.request("GET", `${path}/sthr_nobody`)).status).toBe(404);
    expect((await world.request("GET", `${path}?statuses[]=running`)).body.data).toEqual([]);
  });

  test("measures the thread from its first change of status, and its usage from its first rest", async () => {
    const world = await openWorld();
    const { body: session } = await world.request("POST", "/v1/sessions", await world.prepare());
    const path = `/v1/sessions/${session.id}`;
    const measures = async () => {
      const { body } = await world.request("GET", `${path}/threads`);
      const [thread] = body.data as readonly (Body & { stats: unknown; usage: unknown })[];
      return { stats: thread?.stats, usage: thread?.usage };
    };
    await world.request("POST", path, { title: "An event that is no change of status" });
    expect(await measures()).toEqual({ stats: null, usage: null });
    await world.request("POST", `${path}/events`, { events: [message("go")] });
    const running = { stats: { duration_seconds: expect.any(Number) }, usage: null };
    expect(await measures()).toEqual(running);
    const harness = await openHarness(world, session.id);
    await harness.turn("done");
    expect(await measures()).toEqual({ ...running, usage: {} });
  });
});
