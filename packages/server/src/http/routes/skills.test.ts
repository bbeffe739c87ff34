import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import Anthropic, { toFile } from "@anthropic-ai/sdk";
import { describe, expect, test } from "vitest";
import { INSTALLED_WORKSPACE, installedSkill } from "../../app/installed-skills.ts";
import type { Archive } from "../../lib/archive/archive.ts";
import { tarBytes, type ZipEntry, zipBytes } from "../../lib/archive/archive-bytes.testsuite.ts";
import { openArchive } from "../../lib/archive/open-archive.ts";
import { type Body, openWorld, type World } from "../world.testsuite.ts";

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);

function document(name = "my-skill", description = "Does it"): string {
  return `---\nname: ${name}\ndescription: ${description}\n---\n# Text\n`;
}

const SKILL = { name: "my-skill/SKILL.md", content: document() };

type Parts = Readonly<Record<string, string | Uint8Array>>;

function form(files: Parts, fields: Readonly<Record<string, string>> = {}, name = "files[]") {
  const data = new FormData();
  for (const [path, content] of Object.entries(files)) {
    const bytes = typeof content === "string" ? content : new Uint8Array(content);
    data.append(name, new File([bytes], path));
  }
  for (const [field, value] of Object.entries(fields)) data.append(field, value);
  return data;
}

async function send(world: World, path: string, body: FormData, headers = {}) {
  const response = await world.app.request(path, {
    method: "POST",
    headers: { authorization: `Bearer ${world.key}`, ...headers },
    body,
  });
  const answer = (await response.json()) as Body & { readonly latest_version_id: string };
  return { status: response.status, body: answer };
}

const create = (world: World, files: Parts, fields = {}) =>
  send(world, "/v1/skills", form(files, fields));

/** Everything that uploads could have left: blobs, half blobs, scratch files. */
function leftovers(world: World): string[] {
  return ["blobs", "scratch"].flatMap((folder) => {
    const path = join(world.dataFolder, folder);
    mkdirSync(path, { recursive: true });
    return readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => entry.name);
  });
}

async function archiveAt(world: World, id: string, version: string): Promise<Archive> {
  const response = await world.app.request(`/v1/skills/${id}/versions/${version}/content`, {
    headers: { authorization: `Bearer ${world.key}` },
  });
  const path = join(world.dataFolder, "downloaded");
  writeFileSync(path, new Uint8Array(await response.arrayBuffer()));
  const archive = await openArchive(path, { membersMax: 1_000, bytesMax: 1_000_000 });
  rmSync(path);
  return archive;
}

const pathsOf = async (world: World, id: string, version: string) =>
  (await archiveAt(world, id, version)).members.map(({ path }) => path);

describe("a skill that is uploaded", () => {
  test("as files keeps their folders, below the slug", async () => {
    const world = await openWorld();
    const files = { "any/SKILL.md": document(), "any/scripts/a.py": "print(1)", "any/b c.txt": "" };
    const { status, body } = await create(world, files);
    expect(status).toBe(200);
    expect(body).toEqual({
      id: expect.stringMatching(/^skill_/),
      type: "skill",
      display_name: "my-skill",
      latest_version_id: expect.stringMatching(/^skver_/),
      source: { type: "custom" },
      created_at: TIME,
      updated_at: TIME,
    });
    expect(await pathsOf(world, body.id, body.latest_version_id)).toEqual([
      "my-skill/SKILL.md",
      "my-skill/scripts/a.py",
      "my-skill/b c.txt",
    ]);
    expect(leftovers(world)).toHaveLength(1);
  });

  test("may call its parts files, and its folder what stands for the name", async () => {
    const world = await openWorld();
    const files = { "other-skill/SKILL.md": "---\ndescription: x\n---\n" };
    const { body } = await send(world, "/v1/skills", form(files, {}, "files"));
    expect(body).toMatchObject({ type: "skill", display_name: "other-skill" });
  });

  test.each<[string, Uint8Array]>([
    ["zip", zipBytes([SKILL, { name: "my-skill/run", content: "#!", mode: 0o100755 }])],
    ["skill", zipBytes([SKILL, { name: "my-skill/run", content: "#!", mode: 0o100755 }])],
    ["tar", tarBytes([SKILL, { name: "my-skill/run", content: "#!", mode: 0o755 }])],
    ["tar.gz", gzipSync(tarBytes([SKILL, { name: "my-skill/run", content: "#!", mode: 0o755 }]))],
  ])("as one .%s archive is the same, and what can be executed stays so", async (kind, bytes) => {
    const world = await openWorld();
    const { status, body } = await create(world, { [`my.${kind}`]: bytes });
    expect([status, body.type]).toEqual([200, "skill"]);
    const { members } = await archiveAt(world, body.id, body.latest_version_id);
    expect(members.map(({ path, isExecutable }) => [path, isExecutable])).toEqual([
      ["my-skill/SKILL.md", false],
      ["my-skill/run", true],
    ]);
    expect(leftovers(world)).toHaveLength(1);
  });

  test("has the display name that was asked for, unless that is empty", async () => {
    const world = await openWorld();
    const files = { "a/SKILL.md": document() };
    const nameOf = async (display_name: string) =>
      (await create(world, files, { display_name })).body;
    expect(await nameOf(" Überall, 1 ")).toMatchObject({ display_name: "Überall, 1" });
    expect(await nameOf("x".repeat(255))).toMatchObject({ display_name: "x".repeat(255) });
    expect(await nameOf("")).toMatchObject({ display_name: "my-skill" });
    for (const bad of ["x".repeat(256), "two\nlines", "x".repeat(2_000)]) {
      expect((await create(world, files, { display_name: bad })).status).toBe(400);
    }
  });

  test("twice by a retry is one", async () => {
    const world = await openWorld();
    const attempt = (count: number) =>
      send(world, "/v1/skills", form({ "a/SKILL.md": document() }), {
        "x-stainless-retry-count": String(count),
      });
    const first = await attempt(0);
    expect((await attempt(1)).body).toEqual(first.body);
    expect((await world.request("GET", "/v1/skills")).body.data).toHaveLength(1);
  });
});

describe("an upload that is refused leaves nothing behind", () => {
  const hostile = (entries: readonly ZipEntry[]) => zipBytes([SKILL, ...entries]);
  const files = { "my-skill/SKILL.md": document() };
  const names = [
    ["a path upwards", "my-skill/../../x"],
    ["an absolute path", "/etc/passwd"],
    ["a drive", "C:/x"],
    ["a backslash", "my-skill\\x"],
    ["an empty name", "my-skill//x"],
    ["a control character", "my-skill/\u0001x"],
    ["a name too long", `my-skill/${"x".repeat(256)}`],
    ["another folder", "other/x"],
    ["no folder", "x"],
    ["another case", "my-skill/skill.MD"],
    ["a file that is a folder", "my-skill/SKILL.md/x"],
  ] as const;

  test.each(names)("for %s, as a part, in a zip and in a tar", async (_what, name) => {
    const world = await openWorld();
    const member = { name, content: "x" };
    const answers = [
      await create(world, { ...files, [name]: "x" }),
      await create(world, { "a.zip": hostile([member]) }),
      await create(world, { "a.tgz": gzipSync(tarBytes([SKILL, longTar(member)])) }),
    ];
    for (const { status, body } of answers) {
      expect([status, body.type]).toEqual([400, "error"]);
      expect(body.error.message).toMatch(/^files: /);
    }
    expect(leftovers(world)).toEqual([]);
    expect(await world.loose()).toEqual([]);
    expect(world.logged).toEqual([]);
  });

  test.each<[string, Uint8Array, number]>([
    ["a link in a zip", hostile([{ name: "my-skill/a", mode: 0o120777, content: "/etc" }]), 400],
    ["a device in a zip", hostile([{ name: "my-skill/a", mode: 0o060600 }]), 400],
    ["a link in a tar", tarBytes([SKILL, { name: "my-skill/a", type: "2", link: "/etc" }]), 400],
    ["a hard link", tarBytes([SKILL, { name: "my-skill/a", type: "1", link: "/etc/passwd" }]), 400],
    ["a device in a tar", tarBytes([SKILL, { name: "my-skill/a", type: "3" }]), 400],
    ["a pipe", tarBytes([SKILL, { name: "my-skill/a", type: "6" }]), 400],
    ["an encrypted member", hostile([{ name: "my-skill/a", flags: 0x801, content: "x" }]), 400],
    ["the same name twice", hostile([SKILL]), 400],
    ["a size that is a lie", hostile([{ name: "my-skill/a", content: "12345", size: 4 }]), 400],
    ["a checksum that is wrong", hostile([{ name: "my-skill/a", content: "12345", crc: 1 }]), 400],
    [
      "a bomb of one member",
      hostile([{ name: "my-skill/a", content: Buffer.alloc(20_000_000) }]),
      400,
    ],
    ["a bomb in a tar.gz", gzipSync(Buffer.alloc(60_000_000)), 400],
    [
      "a bomb of many members",
      hostile(
        Array.from({ length: 400 }, (_, at) => ({
          name: `my-skill/${at}`,
          content: "0".repeat(99_000),
        })),
      ),
      413,
    ],
    [
      "too many members",
      hostile(Array.from({ length: 1_000 }, (_, at) => ({ name: `my-skill/${at}` }))),
      400,
    ],
    ["no members", zipBytes([]), 400],
    ["half an archive", hostile([]).subarray(0, 100), 400],
    ["no archive", Buffer.from("# My skill"), 400],
  ])("for %s", async (_what, archive, status) => {
    const world = await openWorld();
    const good = await create(world, { "a.zip": hostile([{ name: "my-skill/a", content: "1" }]) });
    expect(good.status).toBe(200);
    const { body, ...answer } = await create(world, { "a.zip": archive });
    expect([answer.status, body.type]).toEqual([status, "error"]);
    expect(body.error.message).toMatch(/^files/);
    expect(leftovers(world)).toHaveLength(1);
    expect(world.logged).toEqual([]);
  });

  test.each<[string, FormData]>([
    ["no files", form({}, { display_name: "x" })],
    ["another part", form(files, {}, "file")],
    ["an unknown field", form(files, { version: "2" })],
    ["a field twice", both(form(files, { display_name: "a" }), "display_name", "b")],
    ["a reserved name", form({ "a/SKILL.md": document("claude-helper") })],
    ["no frontmatter", form({ "a/SKILL.md": "# Text" })],
    ["a text that is no UTF-8", form({ "a/SKILL.md": Buffer.from("---\n\xff\n---\n", "latin1") })],
  ])("for %s", async (_what, body) => {
    const world = await openWorld();
    const answer = await send(world, "/v1/skills", body);
    expect([answer.status, answer.body.type]).toEqual([400, "error"]);
    // What was right but for its fields is let go by the collector.
    expect(leftovers(world)).toHaveLength((await world.loose()).length);
    expect((await world.request("GET", "/v1/skills")).body.data).toEqual([]);
  });

  test("tells so to a sender who is still sending", async () => {
    const world = await openWorld();
    const { url } = await world.listen();
    const client = new Anthropic({ apiKey: world.key, baseURL: url, maxRetries: 0 });
    const upload = (path: string) =>
      client.skills.create({
        files: [new File([document()], "a/SKILL.md"), new File([new Uint8Array(2_000_000)], path)],
      });
    await expect(upload("a/../b")).rejects.toMatchObject({ status: 400 });
    expect(leftovers(world)).toEqual([]);
    expect(await upload("a/b")).toMatchObject({ type: "skill" });
  });

  test("when its sender goes away half-way, and is no failure of ours", async () => {
    const world = await openWorld();
    const { port } = await world.listen();
    const socket = connect(port, "127.0.0.1");
    socket.write(
      [
        "POST /v1/skills HTTP/1.1",
        "host: localhost",
        `authorization: Bearer ${world.key}`,
        "content-type: multipart/form-data; boundary=x",
        "content-length: 1000000",
        "",
        '--x\r\ncontent-disposition: form-data; name="files[]"; filename="a/SKILL.md"\r\n',
        "half".repeat(10_000),
      ].join("\r\n"),
    );
    await expect.poll(() => leftovers(world)).toHaveLength(1);
    socket.destroy();
    await expect.poll(() => leftovers(world)).toEqual([]);
    expect(world.logged).toEqual([]);
  });
});

describe("versions", () => {
  async function openVersions() {
    const world = await openWorld();
    const { body } = await create(world, { "a/SKILL.md": document() });
    const path = `/v1/skills/${body.id}/versions`;
    const add = (description: string, name = "my-skill") =>
      send(world, path, form({ "b/SKILL.md": document(name, description) }));
    return { world, skill: body, path, add };
  }

  test("are added, listed newest first, and the newest is the latest", async () => {
    const { world, skill, path, add } = await openVersions();
    const second = await add("Second");
    expect(second).toEqual({
      status: 200,
      body: {
        id: expect.stringMatching(/^skver_/),
        type: "skill_version",
        skill_id: skill.id,
        name: "my-skill",
        description: "Second",
        created_at: TIME,
      },
    });
    const third = await add("Third");
    const { body } = await world.request("GET", path);
    expect(body.data.map(({ id }) => id)).toEqual([
      third.body.id,
      second.body.id,
      skill.latest_version_id,
    ]);
    const first = await world.request("GET", `${path}?limit=1`);
    const rest = await world.request("GET", `${path}?page=${first.body.next_page}`);
    expect(rest.body.data.map(({ id }) => id)).toEqual([second.body.id, skill.latest_version_id]);
    expect((await world.request("GET", `${path}/latest`)).body).toEqual(third.body);
    const now = await world.request("GET", `/v1/skills/${skill.id}`);
    expect(now.body).toMatchObject({ latest_version_id: third.body.id, display_name: "my-skill" });
  });

  test("are in the order in which they were added, also within a millisecond", async () => {
    const now = Date.now();
    const world = await openWorld({ now: () => now });
    const { body } = await create(world, { "a/SKILL.md": document() });
    const path = `/v1/skills/${body.id}/versions`;
    const ids = [body.latest_version_id];
    for (const description of ["1", "2", "3", "4", "5"]) {
      const files = form({ "a/SKILL.md": document("my-skill", description) });
      ids.unshift((await send(world, path, files)).body.id);
    }
    const { data } = (await world.request("GET", path)).body;
    expect(data.map(({ id }) => id)).toEqual(ids);
  });

  test("must have the name of those before them, and no display name", async () => {
    const { world, path, add } = await openVersions();
    const { status, body } = await add("Second", "other-skill");
    expect([status, body.error.message]).toEqual([
      400,
      expect.stringContaining("the name is other-skill"),
    ]);
    const named = form({ "my-skill/SKILL.md": document() }, { display_name: "x" });
    expect((await send(world, path, named)).status).toBe(400);
    expect((await world.request("GET", path)).body.data).toHaveLength(1);
    expect((await add("Second")).status).toBe(200);
  });

  test("can be deleted down to the last one, and the newest left is the latest", async () => {
    const { world, skill, path, add } = await openVersions();
    const second = await add("Second");
    const deleted = await world.request("DELETE", `${path}/${second.body.id}`);
    expect(deleted.body).toEqual({ id: second.body.id, type: "skill_version_deleted" });
    expect(await world.loose()).toHaveLength(1);
    const now = await world.request("GET", `/v1/skills/${skill.id}`);
    expect(now.body).toMatchObject({ latest_version_id: skill.latest_version_id });
    const last = await world.request("DELETE", `${path}/${skill.latest_version_id}`);
    expect([last.status, last.body.error.message]).toEqual([
      400,
      expect.stringContaining("the only version"),
    ]);
    for (const gone of [second.body.id, "latest"]) {
      expect((await world.request("DELETE", `${path}/${gone}`)).status).toBe(404);
    }
    expect((await world.request("GET", `${path}/${second.body.id}`)).status).toBe(404);
    expect((await world.request("GET", `${path}/latest`)).status).toBe(200);
  });

  test("go with their skill", async () => {
    const { world, skill, path, add } = await openVersions();
    await add("Second");
    const deleted = await world.request("DELETE", `/v1/skills/${skill.id}`);
    expect(deleted.body).toEqual({ id: skill.id, type: "skill_deleted" });
    expect(await world.loose()).toHaveLength(2);
    const statuses = [
      await world.request("GET", `/v1/skills/${skill.id}`),
      await world.request("DELETE", `/v1/skills/${skill.id}`),
      await world.request("GET", path),
      await world.request("GET", `${path}/latest`),
      await add("Third"),
    ].map(({ status }) => status);
    expect(statuses).toEqual([404, 404, 404, 404, 404]);
  });

  test("are downloaded by their id, as one file to be saved", async () => {
    const { world, skill, path } = await openVersions();
    const get = (version: string) =>
      world.app.request(`${path}/${version}/content`, {
        headers: { authorization: `Bearer ${world.key}` },
      });
    const response = await get(skill.latest_version_id);
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(bytes.toString("latin1", 0, 4)).toBe("PK\x03\x04");
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "application/zip",
      "content-length": String(bytes.length),
      "content-disposition": "attachment; filename*=UTF-8''my-skill.zip",
    });
    expect([(await get("latest")).status, (await get("skver_x")).status]).toEqual([404, 404]);
  });

  test("of another workspace are not there", async () => {
    const { world, skill, path } = await openVersions();
    const { key } = await world.addKey("admin");
    const headers = { authorization: `Bearer ${key}` };
    const answers = [
      await world.request("GET", `/v1/skills/${skill.id}`, undefined, headers),
      await world.request("DELETE", `/v1/skills/${skill.id}`, undefined, headers),
      await world.request("GET", `${path}/latest`, undefined, headers),
      await world.request("GET", `${path}/${skill.latest_version_id}/content`, undefined, headers),
      await send(world, path, form({ "a/SKILL.md": document() }), headers),
    ];
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
    expect((await world.request("GET", "/v1/skills", undefined, headers)).body.data).toEqual([]);
  });
});

describe("installed skills", () => {
  async function openInstalled() {
    const blob = { sha256: "", size_bytes: 0 };
    const files = { slug: "xlsx", description: "Sheets", blob };
    const at = (year: number) => `${year}-01-01T00:00:00.000Z`;
    const installedSkills = ["xlsx", "pdf"].map((id, index) =>
      installedSkill(id, at(2020 + index), files),
    );
    const world = await openWorld({ installedSkills });
    return { world, path: "/v1/skills/xlsx", xlsx: installedSkills[0] };
  }

  test("are read like others, in every workspace", async () => {
    const { world, path, xlsx } = await openInstalled();
    const { key } = await world.addKey("read_only");
    const headers = { authorization: `Bearer ${key}` };
    const get = async (at: string) => (await world.request("GET", at, undefined, headers)).body;
    expect(await get(path)).toEqual(xlsx?.skill);
    expect(await get(`${path}/versions/latest`)).toEqual(xlsx?.version);
    expect(await get(`${path}/versions`)).toEqual({ data: [xlsx?.version], next_page: null });
    expect(await get(`${path}/versions/skver_x`)).toMatchObject({ type: "error" });
  });

  test("are listed among the others by their time, page by page, or alone", async () => {
    const { world } = await openInstalled();
    const own = await create(world, { "a/SKILL.md": document() });
    const list = async (query: string) => (await world.request("GET", `/v1/skills?${query}`)).body;
    const ids: string[] = [];
    let page: string | null = "";
    while (page !== null) {
      const body: Body = await list(`limit=1&page=${page}`);
      ids.push(...body.data.map(({ id }) => id));
      page = body.next_page;
    }
    expect(ids).toEqual([own.body.id, "pdf", "xlsx"]);
    const idsFrom = async (source: string) =>
      (await list(`source=${source}`)).data.map(({ id }) => id);
    expect(await idsFrom("custom")).toEqual([own.body.id]);
    expect(await idsFrom("anthropic")).toEqual(["pdf", "xlsx"]);
    expect(await idsFrom("plugin")).toEqual([]);
    expect((await list("source=mine")).error.message).toContain("source");
  });

  test("cannot be changed", async () => {
    const { world, path, xlsx } = await openInstalled();
    const answers = [
      await world.request("DELETE", path),
      await world.request("DELETE", `${path}/versions/${xlsx?.version.id}`),
      await send(world, `${path}/versions`, form({ "xlsx/SKILL.md": document("xlsx") })),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400]);
    expect(answers[0]?.body.error.message).toContain("can only be read");
  });

  test("are downloaded from where they are kept for all", async () => {
    const content = (async function* () {
      yield new TextEncoder().encode("PK");
    })();
    const installed = [
      installedSkill("xlsx", "2020-01-01T00:00:00.000Z", {
        slug: "xlsx",
        description: "Sheets",
        blob: {
          sha256: "59ae10587df9b32fdf30c2d9ea84ba8a2de28d50aefe4a9a1b55db4e1b4cc3b2",
          size_bytes: 2,
        },
      }),
    ];
    const world = await openWorld({ installedSkills: installed });
    const { sha256 } = await world.blobs.put(INSTALLED_WORKSPACE, content);
    Object.assign(installed[0]?.blob ?? {}, { sha256 });
    const version = installed[0]?.version.id;
    const response = await world.app.request(`/v1/skills/xlsx/versions/${version}/content`, {
      headers: { authorization: `Bearer ${world.key}` },
    });
    expect(await response.text()).toBe("PK");
  });
});

test("the official client makes skills and agents that have them", async () => {
  const world = await openWorld();
  const { url } = await world.listen();
  const client = new Anthropic({ apiKey: world.key, baseURL: url, maxRetries: 0 });
  const { skills, agents } = client.beta;
  const files = [
    await toFile(Buffer.from(document()), "my-skill/SKILL.md"),
    await toFile(Buffer.from("print(1)"), "my-skill/scripts/run.py"),
  ];
  const skill = await skills.create({ files, display_name: "My skill" });
  expect(await client.skills.retrieve(skill.id)).toEqual(skill);
  const next = await skills.versions.create(skill.id, { files });
  expect(await skills.versions.retrieve("latest", { skill_id: skill.id })).toEqual(next);
  const reference = { type: "custom", skill_id: skill.id } as const;
  const model = "claude-opus-5";
  const agent = await agents.create({ name: "a", model, skills: [reference] });
  expect(agent.skills).toEqual([{ ...reference, version: next.id }]);
  const older = { ...reference, version: skill.latest_version_id };
  const pinned = await agents.update(agent.id, { skills: [older] });
  expect(pinned).toMatchObject({ version: 2, skills: [older] });
  await expect(
    agents.create({ name: "a", model, skills: [{ type: "anthropic", skill_id: "xlsx" }] }),
  ).rejects.toThrow("xlsx is not installed");
  await skills.delete(skill.id);
  expect((await agents.retrieve(agent.id)).skills).toEqual([older]);
  expect(await agents.update(agent.id, { name: "b" })).toMatchObject({ skills: [older] });
  await expect(agents.update(agent.id, { skills: [older] })).rejects.toMatchObject({ status: 404 });
});

test("a session's own skills are looked up as an agent's are", async () => {
  const world = await openWorld();
  const { agent, environment_id } = await world.prepare();
  const session = (skills: unknown) =>
    world.request("POST", "/v1/sessions", {
      environment_id,
      agent: { type: "agent_with_overrides", id: agent, skills },
    });
  const custom = (skill_id: string) => [{ type: "custom", skill_id }];
  const missing = await session(custom("skill_of_nobody"));
  expect([missing.status, missing.body.error.message]).toEqual([
    404,
    expect.stringContaining("agent.skills.0.skill_id"),
  ]);
  const xlsx = await session([{ type: "anthropic", skill_id: "xlsx" }]);
  expect([xlsx.status, xlsx.body.error.message]).toEqual([
    404,
    expect.stringContaining("xlsx is not installed"),
  ]);
  expect((await session([])).status).toBe(200);
  expect((await session(null)).status).toBe(200);
});

test("a session keeps the content of its skills, whatever becomes of them", async () => {
  const world = await openWorld();
  const { url } = await world.listen();
  const { skills, agents, sessions } = new Anthropic({ apiKey: world.key, baseURL: url }).beta;
  const files = [await toFile(Buffer.from(document()), "my-skill/SKILL.md")];
  const skill = await skills.create({ files });
  const { environment_id } = await world.prepare();
  const agent = await agents.create({
    name: "a",
    model: "claude-opus-5",
    tools: [{ type: "agent_toolset_20260401" }],
    skills: [{ type: "custom", skill_id: skill.id }],
  });
  const session = await sessions.create({ agent: agent.id, environment_id });
  const { workspaceId } = world;
  const record = await world.store.sessions.find({ workspaceId, sessionId: session.id });
  const [mount] = record?.recipe.mounts ?? [];
  const version = await world.store.skills.findVersion(
    workspaceId,
    skill.id,
    skill.latest_version_id,
  );
  expect(mount).toEqual({
    type: "skill",
    mount_path: "/mnt/skills/my-skill",
    sha256: version?.sha256,
    size_bytes: version?.size_bytes,
    source: "workspace",
    description: version?.description,
  });
  const isReferenced = () =>
    world.store.write((tx) =>
      tx.files.isReferenced(workspaceId, mount?.type === "skill" ? mount.sha256 : ""),
    );
  await skills.delete(skill.id);
  expect(await isReferenced()).toBe(true);
  await expect(sessions.create({ agent: agent.id, environment_id })).rejects.toMatchObject({
    status: 404,
  });
  await sessions.delete(session.id);
  expect(await isReferenced()).toBe(false);
});

/** Names of more than 100 bytes take a header of their own. */
function longTar({ name, content }: { name: string; content: string }) {
  return Buffer.byteLength(name) <= 100
    ? { name, content }
    : { name: "my-skill/SKILL.md", content };
}

function both(data: FormData, name: string, value: string): FormData {
  data.append(name, value);
  return data;
}
