import { describe, expect, test } from "vitest";
import { type Body, openHarness, openWorld, type World } from "../world.testsuite.ts";

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const URL = "https://github.com/acme/widgets";

async function create(world: World, params: object) {
  return await world.request("POST", "/v1/sessions", { ...(await world.prepare()), ...params });
}

async function newStore(world: World, name: string, description?: string): Promise<string> {
  const made = await world.request("POST", "/v1/memory_stores", { name, description });
  return made.body.id;
}

async function newVault(world: World): Promise<string> {
  return (await world.request("POST", "/v1/vaults", { display_name: "team" })).body.id;
}

async function errorsOf(world: World, sessionId: string) {
  const { body } = await world.request("GET", `/v1/sessions/${sessionId}/events`);
  return (body.data as readonly (Body & { error: object })[]).map(({ error }) => error);
}

const repository = (fields: object = {}) => ({ type: "github_repository", url: URL, ...fields });

describe("a session's repositories", () => {
  test("are kept and shown, but for their tokens", async () => {
    const world = await openWorld();
    const checkout = { type: "branch", name: "main" };
    const resources = [
      repository({ authorization_token: "ghp_secret", checkout }),
      repository({ mount_path: "again/", checkout: null }),
    ];
    const { status, body } = await create(world, { resources });
    expect(status).toBe(200);
    const shown = { type: "github_repository", url: URL, created_at: TIME, updated_at: TIME };
    const id = expect.stringMatching(/^sesrsc_/);
    expect(body.resources).toEqual([
      { ...shown, id, mount_path: "/workspace/widgets", checkout },
      { ...shown, id, mount_path: "/workspace/again", checkout: null },
    ]);
    const path = `/v1/sessions/${body.id}/resources`;
    const list = await world.request("GET", path);
    expect(list.body.data).toEqual(body.resources);
    const everything = [body, list.body, await errorsOf(world, body.id)];
    expect(JSON.stringify(everything)).not.toContain("ghp_secret");
  });

  test("take new tokens, which are stored sealed and for their place alone", async () => {
    const world = await openWorld();
    const { body } = await create(world, {
      resources: [repository({ authorization_token: "ghp_one" })],
    });
    const [first] = body.resources;
    const key = { workspaceId: world.workspaceId, sessionId: body.id };
    const binding = `${world.workspaceId}/${body.id}/${first?.id}/authorization_token`;
    const opened = async () => {
      const sealed = (await world.store.sessions.findRepositoryToken(key, first?.id ?? "")) ?? "";
      expect(sealed).not.toContain("ghp_");
      return world.secretBox.open(sealed, binding).reveal();
    };
    expect(await opened()).toBe("ghp_one");
    const path = `/v1/sessions/${body.id}/resources/${first?.id}`;
    const updated = await world.request("POST", path, { authorization_token: "ghp_two" });
    expect([updated.status, updated.body]).toEqual([200, { ...first, updated_at: TIME }]);
    expect(await opened()).toBe("ghp_two");
    expect((await world.request("POST", path, {})).status).toBe(400);
    expect((await world.request("POST", path, { authorization_token: "" })).status).toBe(400);
    expect((await world.request("DELETE", path)).status).toBe(400);
    expect((await world.request("GET", path)).body).toEqual(updated.body);
  });

  test.each<[object, string]>([
    [{ url: "http://github.com/a/b" }, "resources.0.url"],
    [{ url: `${URL}.git` }, "resources.0.url"],
    [{ mount_path: "/opt/widgets" }, "resources.0.mount_path"],
    [{ mount_path: "/workspace" }, "resources.0.mount_path"],
    [{ mount_path: "../widgets" }, "resources.0.mount_path"],
    [{ checkout: { type: "branch", name: "-x" } }, "resources.0.checkout.name"],
    [{ checkout: { type: "commit", sha: "abc1234" } }, "resources.0.checkout.sha"],
    [{ checkout: { type: "tag", name: "v1" } }, "resources.0.checkout"],
  ])("refuse %j", async (fields, place) => {
    const world = await openWorld();
    const { status, body } = await create(world, { resources: [repository(fields)] });
    expect([status, body.error.message]).toEqual([400, expect.stringContaining(place)]);
  });

  test("have places of their own", async () => {
    const world = await openWorld();
    const pairs = [
      [repository(), repository()],
      [repository(), repository({ mount_path: "/workspace/widgets/inner" })],
    ];
    for (const resources of pairs) {
      const { status, body } = await create(world, { resources });
      expect([status, body.error.message]).toEqual([400, expect.stringContaining("mounted")]);
    }
    const commit = { type: "commit", sha: "0".repeat(40) };
    const side = [repository({ checkout: commit }), repository({ mount_path: "/workspace/w2" })];
    expect((await create(world, { resources: side })).status).toBe(200);
  });
});

describe("a session's memory stores", () => {
  test("are snapshots, addressed by the store's id", async () => {
    const world = await openWorld();
    const first = await newStore(world, "Team Notes", "What we know");
    const second = await newStore(world, "ideas");
    const resources = [
      { type: "memory_store", memory_store_id: first },
      { type: "memory_store", memory_store_id: second, access: "read_only", instructions: "Read." },
    ];
    const { status, body } = await create(world, { resources });
    expect(status).toBe(200);
    expect(body.resources).toEqual([
      {
        type: "memory_store",
        memory_store_id: first,
        access: "read_write",
        instructions: null,
        name: "Team Notes",
        description: "What we know",
        mount_path: "/mnt/memory/team-notes",
      },
      {
        type: "memory_store",
        memory_store_id: second,
        access: "read_only",
        instructions: "Read.",
        name: "ideas",
        description: "",
        mount_path: "/mnt/memory/ideas",
      },
    ]);
    await world.request("POST", `/v1/memory_stores/${first}`, { name: "Other" });
    const path = `/v1/sessions/${body.id}/resources`;
    expect((await world.request("GET", `${path}/${first}`)).body).toEqual(body.resources[0]);
    const update = await world.request("POST", `${path}/${first}`, { authorization_token: "x" });
    expect([update.status, (await world.request("DELETE", `${path}/${first}`)).status]).toEqual([
      400, 400,
    ]);
    const listed = async (query: string) => {
      const list = await world.request("GET", `/v1/sessions?${query}`);
      return list.body.data.map(({ id }) => id);
    };
    expect(await listed(`memory_store_id=${first}`)).toEqual([body.id]);
    expect(await listed("memory_store_id=memstore_0")).toEqual([]);
  });

  test("are there, unarchived, attached once, at places of their own, and at most eight", async () => {
    const world = await openWorld();
    const names = Array.from({ length: 9 }, (_, index) => `store ${index}`);
    const stores: string[] = [];
    for (const name of names) stores.push(await newStore(world, name));
    const archived = await newStore(world, "old");
    await world.request("POST", `/v1/memory_stores/${archived}/archive`);
    const sameSlug = await newStore(world, "Store--0");
    const attach = async (...ids: string[]) => {
      const resources = ids.map((id) => ({ type: "memory_store", memory_store_id: id }));
      const { status, body } = await create(world, { resources });
      return status === 200 ? 200 : [status, body.error.details, body.error.message];
    };
    const says = (text: string) => expect.stringContaining(text);
    const [first = ""] = stores;
    expect(await attach("memstore_0")).toEqual([
      404,
      { error_code: "memory_store_not_found" },
      says("resources.0.memory_store_id"),
    ]);
    expect(await attach(first, archived)).toEqual([
      400,
      { error_code: "memory_store_archived" },
      says("resources.1.memory_store_id"),
    ]);
    expect(await attach(first, first)).toEqual([400, undefined, says("twice")]);
    expect(await attach(first, sameSlug)).toEqual([400, undefined, says("/mnt/memory/store-0")]);
    expect(await attach(...stores)).toEqual([400, undefined, says("at most 8")]);
    expect(await attach(...stores.slice(1))).toBe(200);
    const long = { type: "memory_store", memory_store_id: first, instructions: "i".repeat(4097) };
    expect((await create(world, { resources: [long] })).status).toBe(400);
  });
});

describe("a session's vaults", () => {
  test("are there, unarchived and named once, and keep their order", async () => {
    const world = await openWorld();
    const [one, two, archived] = [
      await newVault(world),
      await newVault(world),
      await newVault(world),
    ];
    await world.request("POST", `/v1/vaults/${archived}/archive`);
    const withVaults = (...vault_ids: string[]) => create(world, { vault_ids });
    const made = await withVaults(two, one);
    expect([made.status, (made.body as unknown as { vault_ids: string[] }).vault_ids]).toEqual([
      200,
      [two, one],
    ]);
    const unknown = await withVaults(one, "vlt_0");
    expect([unknown.status, unknown.body.error.details]).toEqual([
      404,
      { error_code: "vault_not_found" },
    ]);
    const old = await withVaults(archived);
    expect([old.status, old.body.error.details]).toEqual([400, { error_code: "vault_archived" }]);
    const twice = await withVaults(one, one);
    expect([twice.status, twice.body.error.message]).toEqual([
      400,
      expect.stringContaining("vault_ids.1"),
    ]);
    const many = await withVaults(...Array.from({ length: 51 }, (_, index) => `vlt_${index}`));
    expect(many.status).toBe(400);
  });
});

test("a credential whose host is out of reach is shown in the log, starts no turn and holds none up", async () => {
  const world = await openWorld();
  const [vault, other] = [await newVault(world), await newVault(world)];
  const credential = async (vaultId: string, secret_name: string, ...allowed_hosts: string[]) => {
    const networking = { type: "limited", allowed_hosts };
    const auth = { type: "environment_variable", secret_name, secret_value: "canary", networking };
    const made = await world.request("POST", `/v1/vaults/${vaultId}/credentials`, { auth });
    return made.body.id;
  };
  const outside = await credential(vault, "KEY", "api.example.com", "*.reached.example");
  await credential(vault, "REACHED", "a.reached.example");
  // The first vault's counts.
  await credential(other, "KEY", "elsewhere.example.com");
  const environment = await world.request("POST", "/v1/environments", {
    name: "limited",
    config: {
      type: "cloud",
      networking: { type: "limited", allowed_hosts: ["*.reached.example"] },
    },
  });
  const attached = { vault_ids: [vault, other], environment_id: environment.body.id };
  const { body: quiet } = await create(world, attached);
  expect(quiet.status).toBe("idle");
  expect(await errorsOf(world, quiet.id)).toEqual([
    {
      type: "credential_host_unreachable_error",
      credential_id: outside,
      vault_id: vault,
      message: expect.stringContaining("api.example.com"),
      retry_status: { type: "retrying" },
    },
  ]);
  expect((await world.request("GET", `/v1/sessions/${quiet.id}`)).body.status).toBe("idle");

  const hello = { type: "user.message", content: [{ type: "text", text: "hello" }] };
  const { body: busy } = await create(world, { ...attached, initial_events: [hello] });
  expect(busy.status).toBe("running");
  await (await openHarness(world, busy.id)).turn("done");
  const { body } = await world.request("GET", `/v1/sessions/${busy.id}/events`);
  const types = body.data.map(({ type }) => type);
  expect(types.slice(0, 2)).toEqual(["session.error", "session.status_running"]);
  expect(types.find((type) => type.startsWith("session.thread_"))).toBe(
    "session.thread_status_running",
  );
});
