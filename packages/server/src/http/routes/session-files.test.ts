import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { INSTALLED_WORKSPACE } from "../../app/installed-skills.ts";
import { draft, statusRunning, threadStatus } from "../../core/harness/drafting.ts";
import { END_TURN, idleDrafts } from "../../core/harness/steps.ts";
import { fold } from "../../core/session/fold.ts";
import { newId } from "../../lib/new-id.ts";
import { committed, responded, testDrafting, text, toolUse } from "../../testing/logs.ts";
import {
  type Body,
  openHarness,
  openWorld,
  UNPRICED_MODEL,
  type World,
} from "../world.testsuite.ts";

const LARGE = "\u0000é\ud800".repeat(23_000);

/** A session that has talked, with a mounted file, an output, a repository and an empty log of secrets. */
async function talkedSession(world: World, { sandbox = false, rests = true } = {}) {
  await world.blobs.put(world.workspaceId, bytesOf(MOUNTED));
  await world.blobs.put(world.workspaceId, bytesOf(OUTPUT));
  await world.putFile("file_source", { sha256: sha256Of(MOUNTED), size_bytes: MOUNTED.byteLength });
  const { body } = await world.request("POST", "/v1/sessions", {
    ...(await world.prepare()),
    title: "The first",
    metadata: { z: "1", a: "2" },
    resources: [
      { type: "file", file_id: "file_source", mount_path: "/data.csv" },
      {
        type: "github_repository",
        url: "https://github.com/acme/widgets",
        authorization_token: "ghp_secret",
      },
    ],
    initial_events: [{ type: "user.message", content: [{ type: "text", text: "hello" }] }],
  });
  await world.putFile(newId("file"), {
    session_id: body.id,
    sha256: sha256Of(OUTPUT),
    size_bytes: OUTPUT.byteLength,
    output_path: "a/report.bin",
    downloadable: true,
  });
  await world.blobs.put(INSTALLED_WORKSPACE, bytesOf(SKILL));
  await world.store.write(async (tx) => {
    const key = keyOf(world, body.id);
    const recipe = (await tx.sessions.find(key))?.recipe;
    if (recipe === undefined) throw new Error("there is no session");
    const { mount_path, description } = SKILL_PLACE;
    const content = { sha256: sha256Of(SKILL), size_bytes: SKILL.byteLength };
    const skill = {
      type: "skill",
      mount_path,
      ...content,
      source: "installed",
      description,
    } as const;
    await tx.sessions.update(key, { recipe: { ...recipe, mounts: [skill, ...recipe.mounts] } });
  });
  const harness = await openHarness(world, body.id);
  const id = () => newId("sevt");
  const drafting = { ...testDrafting(), threadId: harness.threadId, newId: id };
  const start = id();
  const drafts = [
    statusRunning(drafting),
    threadStatus(drafting, "session.thread_status_running"),
    ...(await world.store.events.getInbox(keyOf(world, body.id))).map(
      ({ arrival: _arrival, accepted_at: _at, ...rest }) => rest,
    ),
    draft(
      drafting,
      "span.model_request_start",
      { public: {}, private: { model: "m", attempt: 1 } },
      start,
    ),
    ...responded(drafting, [text(LARGE), ...(sandbox ? [toolUse("toolu_1")] : [])], start),
  ];
  const call = drafts.find(({ type }) => type === "agent.tool_use");
  if (call !== undefined) {
    const started = { call_id: call.id, hand_id: "hand_old", hands_boot: "boot_old" };
    drafts.push(draft(drafting, "drover.call_started", { public: {}, private: started }));
    if (rests) {
      const shown = { tool_use_id: call.id, content: [], is_error: false };
      const origin = { reason: "executed", hand_id: "hand_old" } as const;
      drafts.push(draft(drafting, "agent.tool_result", { public: shown, private: origin }));
    }
  }
  await harness.append(drafts, "running");
  if (rests) {
    await harness.append(idleDrafts(END_TURN, fold(committed(drafts)), drafting), "idle");
  }
  await harness.release().catch(() => undefined);
  return body.id;
}

const SKILL = Buffer.from("an archive");
const SKILL_PLACE = { mount_path: "/mnt/skills/tables", description: "How to read tables" };
const MOUNTED = Buffer.from("a,b\n1,2\n");
const OUTPUT = Buffer.alloc(200_000, "output");

async function* bytesOf(bytes: Uint8Array) {
  yield bytes;
}

const sha256Of = (bytes: Uint8Array | string) => createHash("sha256").update(bytes).digest("hex");
const keyOf = (world: World, sessionId: string) => ({ workspaceId: world.workspaceId, sessionId });

async function exported(world: World, id: string, key = world.key): Promise<string> {
  const response = await world.app.request(`/v1/drover/sessions/${id}/export`, {
    headers: { authorization: `Bearer ${key}` },
  });
  expect([response.status, response.headers.get("content-type")]).toEqual([
    200,
    "application/jsonl",
  ]);
  return Buffer.from(await response.arrayBuffer()).toString("latin1");
}

async function imported(world: World, file: string, query = "", key = world.key) {
  const response = await world.app.request(`/v1/drover/sessions/import${query}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: new Uint8Array(Buffer.from(file, "latin1")),
  });
  return { status: response.status, body: (await response.json()) as Body };
}

async function listed(world: World, id: string): Promise<string> {
  const response = await world.app.request(`/v1/sessions/${id}/events`, {
    headers: { authorization: `Bearer ${world.key}` },
  });
  return await response.text();
}

/** Where an imported session can go on. */
const place = async (world: World) => `?environment_id=${(await world.prepare()).environment_id}`;

const leftBehind = (world: World) =>
  world.store.write((tx) => tx.copies.listAbandoned("9999-01-01T00:00:00Z", 100));

/** The file with some of its lines changed, and its end made to fit. */
function changed(file: string, change: (lines: string[]) => string[]): string {
  const lines = change(file.trimEnd().split("\n").slice(0, -1));
  const kinds = lines.map((line) => line.slice(0, 8));
  const body = lines.map((line) => `${line}\n`).join("");
  const events = kinds.filter((kind) => kind === '{"event"').length;
  const files = kinds.filter((kind) => kind.startsWith('{"file"')).length;
  const sha256 = sha256Of(Buffer.from(body, "latin1"));
  return `${body}${JSON.stringify({ end: { events, files, sha256 } })}\n`;
}

describe("a session that was exported", () => {
  test("is read back byte for byte elsewhere, gives the same file, and goes on there", async () => {
    const [here, there] = [await openWorld(), await openWorld()];
    const id = await talkedSession(here);
    const file = await exported(here, id);
    const query = await place(there);
    const { status, body } = await imported(there, file, query);
    expect([status, body.id]).toEqual([200, id]);
    expect(await listed(there, id)).toBe(await listed(here, id));
    const old = await here.request("GET", `/v1/sessions/${id}`);
    const made = await there.request("GET", `/v1/sessions/${id}`);
    const { environment_id, stats: _stats, ...same } = old.body as never as Record<string, object>;
    expect(made.body).toMatchObject(same);
    const again = await exported(there, id);
    const environment = query.split("=")[1] ?? "";
    expect(again.split("\n").slice(2, -2)).toEqual(file.split("\n").slice(2, -2));
    expect(changed(again.replace(environment, String(environment_id)), (lines) => lines)).toBe(
      file,
    );
    const record = await there.store.sessions.find(keyOf(there, id));
    expect(record?.recipe.mounts).toMatchObject([
      { ...SKILL_PLACE, type: "skill", source: "workspace", sha256: sha256Of(SKILL) },
      { type: "file", filename: "data.csv", sha256: sha256Of(MOUNTED) },
    ]);
    expect(await there.blobs.get(there.workspaceId, sha256Of(SKILL))).toBeDefined();
    const files = await there.request("GET", `/v1/files?scope_id=${id}`);
    expect(files.body.data).toHaveLength(2);
    const output = files.body.data.find(
      (one) => (one as never as { downloadable: boolean }).downloadable,
    );
    const content = await there.app.request(`/v1/files/${output?.id}/content`, {
      headers: { authorization: `Bearer ${there.key}` },
    });
    expect(Buffer.from(await content.arrayBuffer()).equals(OUTPUT)).toBe(true);
    const sent = await there.request("POST", `/v1/sessions/${id}/events`, {
      events: [{ type: "user.message", content: [{ type: "text", text: "and?" }] }],
    });
    expect(sent.status).toBe(200);
    await (await openHarness(there, id)).turn("Going on.");
    expect(
      (await there.store.events.getEvents(keyOf(there, id), { limit: 100 })).at(-1)?.epoch,
    ).toBe(2);
  });

  test("is another session in another workspace of its server", async () => {
    const world = await openWorld();
    const id = await talkedSession(world);
    const file = await exported(world, id);
    const other = await world.addKey("developer");
    const headers = { authorization: `Bearer ${other.key}` };
    const environment = await world.request("POST", "/v1/environments", { name: "here" }, headers);
    const query = `?environment_id=${environment.body.id}`;
    const refused = await imported(world, file, query, other.key);
    expect([refused.status, refused.body.error.message]).toEqual([
      409,
      expect.stringContaining(id),
    ]);
    const { status, body } = await imported(world, file, `${query}&new_ids=true`, other.key);
    expect(status).toBe(200);
    const again = await exported(world, body.id, other.key);
    expect(again.split("\n").length).toBe(file.split("\n").length);
  });

  test("holds no secret, and says what it leaves out", async () => {
    const world = await openWorld();
    const file = await exported(world, await talkedSession(world));
    expect(file).not.toContain("ghp_");
    expect(file).not.toContain(world.workspaceId);
    expect(JSON.parse(file.split("\n")[0] ?? "")).toMatchObject({
      drover: "session",
      version: 1,
      left_out: expect.arrayContaining([expect.stringContaining("tokens")]),
    });
  });

  test("has a new sandbox, which is said where the old one was used", async () => {
    const [here, there] = [await openWorld(), await openWorld()];
    const id = await talkedSession(here, { sandbox: true });
    const file = await exported(here, id);
    const query = await place(there);
    const refused = await imported(there, file, query);
    expect([refused.status, refused.body.error]).toMatchObject([
      409,
      { message: expect.stringContaining('workspace "empty"') },
    ]);
    expect(await leftBehind(there)).toEqual([]);
    expect((await imported(there, file, `${query}&workspace=empty`)).status).toBe(200);
    expect(await listed(there, id)).toBe(await listed(here, id));
    const again = await exported(there, id);
    expect(again.split("\n").slice(2, -2)).toEqual(file.split("\n").slice(2, -2));
    const record = await there.store.sessions.find(keyOf(there, id));
    const before = await here.store.sessions.find(keyOf(here, id));
    expect(record?.hand_id).not.toBe(before?.hand_id);
    const [mark] = await there.store.events.getEvents(keyOf(there, id), {
      order: "desc",
      limit: 1,
    });
    expect(mark?.private).toMatchObject({ note: expect.stringContaining("are not here") });
  });

  test("is at rest where it arrives, though it was running", async () => {
    const [here, there] = [await openWorld(), await openWorld()];
    const id = await talkedSession(here, { sandbox: true, rests: false });
    const query = `${await place(there)}&workspace=empty`;
    const { status, body } = await imported(there, await exported(here, id), query);
    expect([status, body.status]).toEqual([200, "idle"]);
    const events = (JSON.parse(await listed(there, id)) as Body).data;
    const old = (JSON.parse(await listed(here, id)) as Body).data;
    expect(events.slice(0, old.length)).toEqual(old);
    expect(events.slice(old.length).map(({ type }) => type)).toEqual([
      "agent.tool_result",
      "session.thread_status_idle",
      "session.usage",
      "session.status_idle",
    ]);
  });

  test("keeps being archived", async () => {
    const [here, there] = [await openWorld(), await openWorld()];
    const id = await talkedSession(here, { sandbox: true });
    await here.request("POST", `/v1/sessions/${id}/archive`);
    const file = await exported(here, id);
    const { status, body } = await imported(there, file, await place(there));
    expect([status, body.status, body.archived_at]).toMatchObject([
      200,
      "terminated",
      (await here.request("GET", `/v1/sessions/${id}`)).body.archived_at,
    ]);
  });
});

describe("an import", () => {
  test("does not replace what is there, and can be another session instead", async () => {
    const world = await openWorld();
    const id = await talkedSession(world);
    const file = await exported(world, id);
    const refused = await imported(world, file);
    expect([refused.status, refused.body.error.message]).toEqual([
      409,
      expect.stringContaining(id),
    ]);
    const { status, body } = await imported(world, file, "?new_ids=true");
    expect([status, body]).toMatchObject([200, { title: "The first" }]);
    expect(body.id).not.toBe(id);
    const [old, made] = [
      JSON.parse(await listed(world, id)),
      JSON.parse(await listed(world, body.id)),
    ] as [Body, Body];
    expect(made.data.map(({ type }) => type)).toEqual(old.data.map(({ type }) => type));
    const files = await world.request("GET", `/v1/files?scope_id=${body.id}`);
    expect(files.body.data).toHaveLength(2);
    expect(files.body.data.map((one) => one.id)).toContain(body.resources[0]?.file_id);
  });

  test("takes effect once for a POST that is retried", async () => {
    const [here, there] = [await openWorld(), await openWorld()];
    const file = await exported(here, await talkedSession(here));
    const query = `${await place(there)}&new_ids=true`;
    const post = (attempt: string) =>
      there.app.request(`/v1/drover/sessions/import${query}`, {
        method: "POST",
        headers: { authorization: `Bearer ${there.key}`, "x-stainless-retry-count": attempt },
        body: new Uint8Array(Buffer.from(file, "latin1")),
      });
    const [first, again] = [await (await post("0")).text(), await (await post("1")).text()];
    expect(again).toBe(first);
    expect((await there.request("GET", "/v1/sessions")).body.data).toHaveLength(1);
    expect(await leftBehind(there)).toEqual([]);
  });

  test("needs a key that may write, and an environment that is there", async () => {
    const [here, there] = [await openWorld(), await openWorld()];
    const id = await talkedSession(here);
    const file = await exported(here, id);
    const reader = await there.addKey("read_only", there.workspaceId);
    expect((await imported(there, file, await place(there), reader.key)).status).toBe(403);
    const nowhere = await imported(there, file);
    expect([nowhere.status, nowhere.body.error.message]).toEqual([
      404,
      expect.stringContaining("environment_id"),
    ]);
    const stranger = await here.addKey("admin");
    const foreign = await here.request("GET", `/v1/drover/sessions/${id}/export`, undefined, {
      authorization: `Bearer ${stranger.key}`,
    });
    expect(foreign.status).toBe(404);
    expect((await imported(there, file, await place(there))).status).toBe(200);
  });

  test("of a file that is cut off after any line, or in one, leaves nothing", async () => {
    const [here, there] = [await openWorld(), await openWorld()];
    const file = await exported(here, await talkedSession(here, { sandbox: true }));
    const query = `${await place(there)}&workspace=empty`;
    const lines = file.trimEnd().split("\n");
    for (let count = 0; count < lines.length; count += 1) {
      const whole = lines
        .slice(0, count)
        .map((line) => `${line}\n`)
        .join("");
      for (const cut of [whole, `${whole}${lines[count]?.slice(0, 20)}`]) {
        const { status, body } = await imported(there, cut, query);
        expect([status, body.error.message], `cut after ${count} lines`).toEqual([
          400,
          expect.stringMatching(/line|cut off/),
        ]);
      }
    }
    expect(await leftBehind(there)).toEqual([]);
    expect((await there.request("GET", "/v1/sessions")).body.data).toEqual([]);
    expect((await there.request("GET", "/v1/files")).body.data).toEqual([]);
    expect((await imported(there, file, query)).status).toBe(200);
  });

  test("with a budget for a model without a price here is refused, unless the session is over", async () => {
    const [here, there] = [await openWorld(), await openWorld()];
    const budget = { type: "limit", max_list_cost: { amount: "5", currency: "USD" } };
    const params = { ...(await here.prepare()), budget };
    const { body: made } = await here.request("POST", "/v1/sessions", params);
    const unpriced = (given: string) =>
      changed(given, (lines) =>
        lines.map((line) =>
          line.startsWith('{"session"')
            ? line.replace(/"model":\{"id":"[^"]+"/, `"model":{"id":"${UNPRICED_MODEL}"`)
            : line,
        ),
      );
    const given = await exported(here, made.id);
    const query = await place(there);
    const refused = await imported(there, unpriced(given), query);
    expect([refused.status, refused.body.error.details]).toEqual([
      400,
      { error_code: "model_not_budgetable" },
    ]);
    expect(await leftBehind(there)).toEqual([]);
    const taken = await imported(there, given, query);
    expect([taken.status, taken.body.budget]).toEqual([200, budget]);
    await here.request("POST", `/v1/sessions/${made.id}/archive`);
    const over = unpriced(await exported(here, made.id));
    const shown = await imported(there, over, `${query}&new_ids=true`);
    expect([shown.status, shown.body.status]).toEqual([200, "terminated"]);
  });

  test("of a file with a line changed, left out or twice is refused by its hash", async () => {
    const [here, there] = [await openWorld(), await openWorld()];
    const file = await exported(here, await talkedSession(here));
    const query = await place(there);
    const lines = file.trimEnd().split("\n");
    const end = lines.length - 1;
    const title = file.replace("The first", "The worst");
    const without = lines.filter((_, index) => index !== end - 1).join("\n");
    const more = `${file}${lines[end]}\n`;
    for (const odd of [title, without, more]) {
      const { status } = await imported(there, odd, query);
      expect(status).toBe(400);
    }
    expect((await imported(there, file, query)).status).toBe(200);
  });

  const SESSION = 1;
  const FIRST_EVENT = 2;
  const json = (change: (value: Record<string, object>) => unknown) => (line: string) =>
    JSON.stringify(change(JSON.parse(line)));
  const event = (fields: object) => json(({ event: old }) => ({ event: { ...old, ...fields } }));
  const session = (fields: object) =>
    json(({ session: old }) => ({ session: { ...old, ...fields } }));
  const file = (fields: object) => json(({ file: old }) => ({ file: { ...old, ...fields } }));

  test.each<[string, number, (line: string) => string, string]>([
    ["another format", 0, json(() => ({ drover: "agent", version: 1, left_out: [] })), "line 1"],
    [
      "a newer version",
      0,
      json(() => ({ drover: "session", version: 2, left_out: [] })),
      "newer Drover",
    ],
    ["no JSON", FIRST_EVENT, () => "{", "line 3"],
    ["a list", FIRST_EVENT, () => "[]", "line 3"],
    ["two fields", FIRST_EVENT, (line) => line.replace("{", '{"x":1,'), "line 3"],
    ["another kind", FIRST_EVENT, () => '{"inbox":{}}', "inbox"],
    [
      "a deep value",
      FIRST_EVENT,
      event({ private: JSON.parse(`${'{"a":'.repeat(300)}1${"}".repeat(300)}`) }),
      "deeper",
    ],
    ["an id of another kind", FIRST_EVENT, event({ id: "hand_1" }), "id"],
    ["an unknown type", FIRST_EVENT, event({ type: "session.from_the_future" }), "newer Drover"],
    ["a type of every object", FIRST_EVENT, event({ type: "constructor" }), "line 3"],
    ["a newer event", FIRST_EVENT, event({ v: 99 }), "newer Drover"],
    ["a thread of nobody", FIRST_EVENT, event({ thread_id: "sthr_other" }), "thread_id"],
    [
      "time that goes back",
      FIRST_EVENT + 1,
      event({ processed_at: "2001-01-01T00:00:00.000Z" }),
      "processed_at",
    ],
    [
      "time to come",
      FIRST_EVENT,
      event({ processed_at: "2999-01-01T00:00:00.000Z" }),
      "processed_at",
    ],
    ["time of no form", FIRST_EVENT, event({ processed_at: "yesterday" }), "processed_at"],
    ["an epoch beyond all", FIRST_EVENT, event({ epoch: 1e15 }), "epoch"],
    ["a message without content", FIRST_EVENT + 2, event({ public: {} }), "content"],
    ["a request of no model", FIRST_EVENT + 3, event({ private: {} }), "model"],
    ["an event that waits", FIRST_EVENT, event({ public: null }), "public"],
    ["an unknown field", FIRST_EVENT, event({ arrival: 1 }), "arrival"],
    ["a session without an agent", SESSION, session({ agent: {} }), "agent"],
    ["a session that is a path", SESSION, session({ id: "../x" }), "id"],
    ["too much metadata", SESSION, session({ metadata: { a: "x".repeat(600) } }), "metadata"],
    ["a NUL in the title", SESSION, session({ title: "\u0000" }), "line 2"],
    ["a recipe", SESSION, session({ recipe: {} }), "recipe"],
    [
      "a mount elsewhere",
      SESSION,
      session({
        mounts: [
          { type: "file", mount_path: "/etc/passwd", sha256: "a".repeat(64), size_bytes: 1 },
        ],
      }),
      "mounts",
    ],
    [
      "a mount of nothing",
      SESSION,
      session({
        mounts: [
          {
            type: "file",
            mount_path: "/mnt/session/uploads/x",
            sha256: "a".repeat(64),
            size_bytes: 1,
          },
        ],
      }),
      "no content",
    ],
    [
      "a skill elsewhere",
      SESSION,
      session({
        mounts: [
          {
            type: "skill",
            mount_path: "/mnt/skills/../x",
            sha256: "a".repeat(64),
            size_bytes: 1,
            description: "",
          },
        ],
      }),
      "mounts",
    ],
    [
      "a mount that climbs",
      SESSION,
      session({
        mounts: [
          {
            type: "file",
            mount_path: "/mnt/session/uploads/../x",
            sha256: "a".repeat(64),
            size_bytes: 1,
          },
        ],
      }),
      "mounts",
    ],
    [
      "an archive date",
      SESSION,
      session({ archived_at: "2026-01-01T00:00:00.000Z" }),
      "archived_at",
    ],
    ["another hash", -3, (line) => line, "two of the files"],
    ["a file of another kind", -1, file({ id: "sesn_1" }), "id"],
    ["a file of no type", -1, file({ mime_type: "a\r\nb" }), "mime_type"],
    ["a file without content", -1, file({ sha256: "b".repeat(64) }), "no content"],
  ])("refuses %s", async (what, at, change, sentence) => {
    const [here, there] = [await openWorld(), await openWorld()];
    const good = await exported(here, await talkedSession(here));
    const query = await place(there);
    const bad = changed(good, (lines) => {
      const copy = [...lines];
      if (what === "another hash") return [...copy, copy.at(-1) ?? ""];
      const index = at < 0 ? copy.length + at : at;
      copy[index] = change(copy[index] ?? "");
      return copy;
    });
    const { status, body } = await imported(there, bad, query);
    expect([status, body.error.message]).toEqual([400, expect.stringContaining(sentence)]);
    expect(await leftBehind(there)).toEqual([]);
    expect((await there.request("GET", "/v1/sessions")).body.data).toEqual([]);
    expect(changed(good, (lines) => lines)).toBe(good);
  });

  test("refuses content that is not what its hash says, and keeps none of it", async () => {
    const [here, there] = [await openWorld(), await openWorld()];
    const good = await exported(here, await talkedSession(here));
    const other = { bytes: MOUNTED.toString("base64").replace("YSxi", "YSxj") };
    const bad = changed(good, (lines) =>
      lines.map((line) =>
        line.includes(MOUNTED.toString("base64")) ? JSON.stringify(other) : line,
      ),
    );
    expect(bad).not.toBe(good);
    const { status, body } = await imported(there, bad, await place(there));
    expect([status, body.error.message]).toEqual([400, expect.stringContaining("another one")]);
    expect((await there.loose()).length).toBeGreaterThan(0);
  });
});
