import { describe, expect, test } from "vitest";
import { openHarness, openWorld, type World } from "../world.testsuite.ts";

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const UPLOADS = "/mnt/session/uploads";

async function openSession(world: World, resources: readonly object[] = []) {
  const { body } = await world.request("POST", "/v1/sessions", {
    ...(await world.prepare()),
    resources,
  });
  const key = { workspaceId: world.workspaceId, sessionId: body.id };
  return { id: body.id, path: `/v1/sessions/${body.id}/resources`, key };
}

const file = (mount_path?: string) => ({ type: "file", file_id: "file_1", mount_path });

describe("a session's resources", () => {
  test("take one more file, as the session's own copy, for the next sandbox", async () => {
    const world = await openWorld();
    await world.putFile("file_1");
    const { id, path, key } = await openSession(world, [file("a.csv")]);
    const { status, body } = await world.request("POST", path, {
      type: "file",
      file_id: "file_1",
      mount_path: null,
    });
    expect([status, body]).toEqual([
      200,
      {
        type: "file",
        id: expect.stringMatching(/^sesrsc_/),
        file_id: expect.stringMatching(/^file_\w{22}$/),
        mount_path: `${UPLOADS}/file_1`,
        created_at: TIME,
        updated_at: TIME,
      },
    ]);
    expect((await world.request("GET", `${path}/${body.id}`)).body).toEqual(body);
    const session = await world.request("GET", `/v1/sessions/${id}`);
    expect(session.body.resources[1]).toEqual(body);
    const { recipe } = (await world.store.sessions.find(key)) ?? {};
    expect(recipe?.mounts.map(({ mount_path }) => mount_path)).toEqual([
      `${UPLOADS}/a.csv`,
      `${UPLOADS}/file_1`,
    ]);
    const copy = await world.store.files.find(world.workspaceId, body.file_id);
    expect(copy).toMatchObject({ session_id: id, downloadable: false });
  });

  test("refuse a place that is taken, and a file that is gone", async () => {
    const world = await openWorld();
    await world.putFile("file_1");
    await world.putFile("file_2", { expires_at: "2001-01-01T00:00:00.000Z" });
    const { path } = await openSession(world, [file("a/b")]);
    const refusals: [object, number, string][] = [
      [file("a/b"), 400, "mount_path"],
      [file("a"), 400, "mount_path"],
      [file("a/b/c"), 400, "mount_path"],
      [file("../a"), 400, "mount_path"],
      [{ type: "file", file_id: "file_0" }, 404, "file_id"],
      [{ type: "file", file_id: "file_2" }, 404, "file_id"],
      [{ type: "memory_store", memory_store_id: "memstore_1" }, 400, "type"],
      [{ type: "github_repository", url: "https://github.com/a/b" }, 400, "type"],
    ];
    for (const [params, status, field] of refusals) {
      const answer = await world.request("POST", path, params);
      expect([params, answer.status, answer.body.error.message]).toEqual([
        params,
        status,
        expect.stringContaining(field),
      ]);
    }
    expect((await world.request("POST", path, file("a/c"))).status).toBe(200);
    expect((await world.request("GET", path)).body.data).toHaveLength(2);
  });

  test("are at most 500 files", async () => {
    const world = await openWorld();
    await world.putFile("file_1");
    const files = Array.from({ length: 499 }, (_, index) => file(`${index}`));
    const { path } = await openSession(world, files);
    expect((await world.request("POST", path, file("499"))).status).toBe(200);
    const { status, body } = await world.request("POST", path, file("500"));
    expect([status, body.error.message]).toEqual([400, expect.stringContaining("at most 500")]);
  });

  test("lose a file with the session's copy of it, whose content becomes loose", async () => {
    const world = await openWorld();
    await world.putFile("file_1", { sha256: "b".repeat(64) });
    const { id, path, key } = await openSession(world, [file("a"), file("b")]);
    const { body: list } = await world.request("GET", path);
    const [first, second] = list.data;
    const { body } = await world.request("DELETE", `${path}/${first?.id}`);
    expect(body).toEqual({ id: first?.id, type: "session_resource_deleted" });
    expect((await world.request("GET", path)).body.data).toEqual([second]);
    expect((await world.request("GET", `${path}/${first?.id}`)).status).toBe(404);
    expect((await world.request("DELETE", `${path}/${first?.id}`)).status).toBe(404);
    const copy = await world.store.files.find(world.workspaceId, first?.file_id ?? "");
    expect(copy).toBeUndefined();
    const { recipe } = (await world.store.sessions.find(key)) ?? {};
    expect(recipe?.mounts).toMatchObject([{ mount_path: `${UPLOADS}/b` }]);
    expect(await world.loose()).toEqual(["b".repeat(64)]);
    const again = await world.request("POST", path, file("a"));
    expect([again.status, again.body.id === first?.id]).toEqual([200, false]);
    expect((await world.request("GET", `/v1/sessions/${id}`)).body.resources).toHaveLength(2);
  });

  test("are listed in pages, those of one request in its order, while others come", async () => {
    const world = await openWorld();
    await world.putFile("file_1");
    const names = ["d", "a", "c", "b", "e"];
    const { path } = await openSession(world, names.map(file));
    const seen: string[] = [];
    let page: string | null = "";
    for (let count = 0; page !== null; count += 1) {
      const { body } = await world.request("GET", `${path}?limit=2${page && `&page=${page}`}`);
      const paths = body.data.map((each) => (each as unknown as { mount_path: string }).mount_path);
      seen.push(...paths.map((each) => each.slice(UPLOADS.length + 1)));
      page = body.next_page;
      if (count === 0) {
        await world.request("DELETE", `${path}/${body.data[1]?.id}`);
        await world.request("POST", path, file("later"));
      }
    }
    expect(seen).toEqual([...names, "later"]);
    expect((await world.request("GET", `${path}?page=nonsense`)).status).toBe(400);
  });

  test("change neither in an archived session nor, but for a repository's token, at all", async () => {
    const world = await openWorld();
    await world.putFile("file_1");
    const { id, path } = await openSession(world, [file("a")]);
    const [first] = (await world.request("GET", path)).body.data;
    const one = `${path}/${first?.id}`;
    const update = await world.request("POST", one, { authorization_token: "ghp_1" });
    expect([update.status, update.body.error.message]).toEqual([
      400,
      expect.stringMatching(/authorization_token.*file.*github_repository/),
    ]);
    expect((await world.request("POST", one, { mount_path: "b" })).status).toBe(400);
    await world.request("POST", `/v1/sessions/${id}/archive`);
    expect((await world.request("POST", path, file("b"))).status).toBe(400);
    expect((await world.request("DELETE", one)).status).toBe(400);
    expect((await world.request("GET", one)).body).toEqual(first);
  });

  test("may change while the session runs", async () => {
    const world = await openWorld();
    await world.putFile("file_1");
    const { id, path, key } = await openSession(world, [file("a")]);
    await world.store.write((tx) => tx.queue.wake(key));
    const harness = await openHarness(world, id);
    await harness.append([harness.event("session.status_running")], "running");
    expect((await world.request("POST", path, file("b"))).status).toBe(200);
    const { body } = await world.request("GET", path);
    expect(body.data).toHaveLength(2);
    expect((await world.request("DELETE", `${path}/${body.data[0]?.id}`)).status).toBe(200);
  });
});
