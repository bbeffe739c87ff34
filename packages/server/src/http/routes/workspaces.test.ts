import { expect, test } from "vitest";
import { FIRST_WORKSPACE } from "../../app/workspaces.ts";
import { openWorld } from "../world.testsuite.ts";

async function openInstallation() {
  const world = await openWorld();
  const { key } = await world.addKey("admin", FIRST_WORKSPACE);
  const as = (token: string) => (method: string, path: string, body?: unknown) =>
    world.request(method, `/v1/drover/${path}`, body, { authorization: `Bearer ${token}` });
  const keyOf = (made: { body: object }) => (made.body as { key: string }).key;
  return { world, root: as(key), as, keyOf };
}

test("an admin of the first workspace makes workspaces and their first keys", async () => {
  const { world, root, as, keyOf } = await openInstallation();
  const blue = await root("POST", "workspaces", { name: "Blue" });
  expect(blue.body).toMatchObject({ type: "workspace", name: "Blue" });
  expect(blue.body.id).toMatch(/^wrkspc_/);
  expect((await root("GET", `workspaces/${blue.body.id}`)).body).toEqual(blue.body);
  const params = { name: "ci", role: "admin", workspace_id: blue.body.id };
  const made = await root("POST", "api_keys", params);
  const { key: _key, ...shown } = made.body as unknown as { key: string };
  expect(shown).toMatchObject({ ...params, type: "api_key", revoked_at: null });
  const inBlue = as(keyOf(made));
  expect((await inBlue("GET", "workspaces")).body.data).toEqual([blue.body]);
  expect((await inBlue("GET", "api_keys")).body.data).toEqual([shown]);
  const listed = await root("GET", `api_keys?workspace_id=${blue.body.id}`);
  expect(listed.body.data).toEqual([shown]);
  expect(listed.headers.get("anthropic-workspace-id")).toBe(FIRST_WORKSPACE);
  expect((await root("GET", "workspaces?limit=1")).body.next_page).toEqual(expect.any(String));
  const { headers } = await world.request("GET", "/v1/agents", undefined, {
    authorization: `Bearer ${keyOf(made)}`,
    "anthropic-workspace-id": blue.body.id,
  });
  expect(headers.get("anthropic-workspace-id")).toBe(blue.body.id);
});

test("an admin of another workspace handles its keys, and makes no workspaces", async () => {
  const { world, root, as, keyOf } = await openInstallation();
  const own = as(world.key);
  const made = await own("POST", "api_keys", { name: "ci", role: "developer" });
  expect(made.status).toBe(200);
  expect((await own("POST", "workspaces", { name: "Red" })).status).toBe(403);
  const red = (await root("POST", "workspaces", { name: "Red" })).body.id;
  const answers = await Promise.all([
    own("POST", "api_keys", { name: "ci", role: "admin", workspace_id: red }),
    own("GET", `api_keys?workspace_id=${red}`),
    own("GET", `workspaces/${red}`),
    own("GET", "workspaces/wrkspc_nobody"),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
  expect(answers[2]?.body.error.message.replace(red, "wrkspc_nobody")).toBe(
    answers[3]?.body.error.message,
  );
  expect((await as(keyOf(made))("GET", "workspaces")).status).toBe(403);
});

test("a developer does everything else, a reader only reads", async () => {
  const { world, root, as, keyOf } = await openInstallation();
  const keyFor = async (role: string) =>
    keyOf(await root("POST", "api_keys", { name: role, role, workspace_id: world.workspaceId }));
  const [developer, reader] = [await keyFor("developer"), await keyFor("read_only")];
  const statuses = async (key: string) => {
    const headers = { authorization: `Bearer ${key}` };
    const agent = { name: "a", model: "m" };
    return [
      (await world.request("POST", "/v1/agents", agent, headers)).status,
      (await world.request("GET", "/v1/agents", undefined, headers)).status,
      (await as(key)("GET", "api_keys")).status,
      (await as(key)("POST", "api_keys", { name: "x", role: "developer" })).status,
    ];
  };
  expect(await statuses(developer)).toEqual([200, 200, 403, 403]);
  expect(await statuses(reader)).toEqual([403, 200, 403, 403]);
});

test("a revoked key opens nothing, and the last admin key of a workspace is kept", async () => {
  const { world, root, as, keyOf } = await openInstallation();
  const own = as(world.key);
  const made = await own("POST", "api_keys", { name: "ci", role: "admin" });
  const revoked = await own("POST", `api_keys/${made.body.id}/revoke`);
  expect(revoked.body).toMatchObject({ id: made.body.id, revoked_at: expect.any(String) });
  expect((await as(keyOf(made))("GET", "api_keys")).status).toBe(401);
  const keys = (await own("GET", "api_keys")).body.data;
  const last = keys.find(({ id }) => id !== made.body.id)?.id;
  expect((await own("POST", `api_keys/${last}/revoke`)).status).toBe(400);
  const byRoot = await root("POST", `api_keys/${last}/revoke?workspace_id=${world.workspaceId}`);
  expect(byRoot.status).toBe(200);
  expect((await own("GET", "api_keys")).status).toBe(401);
});

test("a key is kept nowhere: a retry of its making makes another", async () => {
  const { world } = await openInstallation();
  const create = (attempt: string) =>
    world.request(
      "POST",
      "/v1/drover/api_keys",
      { name: "ci", role: "developer" },
      {
        "x-stainless-retry-count": attempt,
      },
    );
  expect((await create("1")).body.id).not.toBe((await create("2")).body.id);
});
