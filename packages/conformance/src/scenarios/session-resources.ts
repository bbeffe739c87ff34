import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { all, assertHas, assertRefused, assertTime, refused } from "../support/expect.ts";
import { newSession } from "../support/fixtures.ts";
import type { Target } from "../target.ts";

const UPLOADS = "/mnt/session/uploads";

/** Never changed by a scenario. */
function sharedFile(t: Target) {
  return t.shared("file", () =>
    t.client.beta.files.upload({ file: new File(["a,b\n1,2\n"], "data.csv") }),
  );
}

export const sessionResources: readonly Scenario[] = [
  scenario(
    "files are mounted at creation, as copies, where they were asked for",
    {
      verifies: [
        "resources.file.shape",
        "resources.file.default-path",
        "resources.file.copy",
        "resources.file.mount-path",
      ],
      rows: [33],
    },
    async (t) => {
      const file = await sharedFile(t);
      const mount = (mount_path?: string) => ({
        type: "file" as const,
        file_id: file.id,
        ...(mount_path !== undefined && { mount_path }),
      });
      const paths = [undefined, "in/data.csv", `${UPLOADS}/other.csv`];
      const { id, resources } = await newSession(t, { resources: paths.map(mount) });
      const expected = [file.id, "in/data.csv", "other.csv"].map((name) => `${UPLOADS}/${name}`);
      assert.deepEqual(
        resources.map((resource) => resource.mount_path),
        expected,
      );
      for (const resource of resources) {
        assert.ok(resource.type === "file");
        assert.match(resource.id, /^sesrsc_/);
        assert.notEqual(resource.file_id, file.id);
        assertTime(resource.created_at);
        assertTime(resource.updated_at);
        const copy = await t.client.beta.files.retrieveMetadata(resource.file_id);
        assertHas(copy, { size_bytes: file.size_bytes, scope: { type: "session", id } });
      }
      for (const taken of [
        ["a", "a"],
        ["a", "a/b"],
      ]) {
        await refused(newSession(t, { resources: taken.map(mount) }), { status: 400 });
      }
      for (const bad of ["../a", "a/../../b", "a/", "a\nb"]) {
        const refusal = { status: 400, says: /mount_path/ };
        await refused(newSession(t, { resources: [mount(bad)] }), refusal);
      }
    },
  ),

  scenario(
    "a file that is not there makes no session",
    { verifies: ["resources.file.unknown"], rows: [33] },
    async (t) => {
      const { id } = await sharedFile(t);
      const mount = (file_id: string) => ({ type: "file" as const, file_id });
      const both = [mount(id), mount("file_nobody")];
      await refused(newSession(t, { resources: both }), { status: 404, says: /file_nobody/ });
      assert.equal((await newSession(t, { resources: [mount(id)] })).resources.length, 1);
    },
  ),

  scenario(
    "files are added, listed, retrieved and taken out",
    {
      verifies: [
        "resources.add.returns",
        "resources.add.null-path",
        "resources.retrieve",
        "resources.list",
        "resources.delete",
        "resources.delete.json",
        "resources.unknown",
      ],
      rows: [42],
    },
    async (t) => {
      const { id: file_id } = await sharedFile(t);
      const { id: session_id } = await newSession(t);
      const { resources } = t.client.beta.sessions;
      const add = (mount_path: string | null) =>
        resources.add(session_id, { type: "file", file_id, mount_path });
      const first = await add(null);
      assertHas(first, { type: "file", mount_path: `${UPLOADS}/${file_id}` });
      const second = await add("b.csv");
      const listed = await all(resources.list(session_id, { limit: 1 }));
      assert.deepEqual(new Set(listed), new Set([first, second]));
      assert.deepEqual((await t.client.beta.sessions.retrieve(session_id)).resources, [
        first,
        second,
      ]);
      assert.deepEqual(await resources.retrieve(second.id, { session_id }), second);
      await refused(resources.retrieve("sesrsc_nobody", { session_id }), { status: 404 });
      const answer = await t.request("DELETE", `/v1/sessions/${session_id}/resources/${first.id}`);
      const tombstone = { id: first.id, type: "session_resource_deleted" };
      assert.deepEqual([answer.status, answer.body], [200, tombstone]);
      await refused(resources.retrieve(first.id, { session_id }), { status: 404 });
      await refused(resources.delete(first.id, { session_id }), { status: 404 });
      assert.deepEqual(await all(resources.list(session_id)), [second]);
    },
  ),

  scenario(
    "only files can be added, and to a file no token can be given",
    {
      verifies: [
        "resources.add.only-files",
        "resources.update.only-repositories",
        "resources.update.token-required",
      ],
      rows: [42, 43],
    },
    async (t) => {
      const { id: file_id } = await sharedFile(t);
      const { id } = await newSession(t);
      const path = `/v1/sessions/${id}/resources`;
      const add = (body: object) => t.request("POST", path, { body });
      const { body: added } = await add({ type: "file", file_id });
      const repository = { type: "github_repository", url: "https://github.com/a/b" };
      assertRefused(await add(repository), { status: 400, says: /type/ });
      const store = { type: "memory_store", memory_store_id: "memstore_1" };
      assertRefused(await add(store), { status: 400, says: /type/ });
      assertRefused(await add({ type: "file" }), { status: 400, says: /file_id/ });
      const update = (body: object) => t.request("POST", `${path}/${added.id}`, { body });
      const token = { authorization_token: "ghp_1" };
      assertRefused(await update(token), { status: 400, says: /github_repository/ });
      assertRefused(await update({}), { status: 400, says: /authorization_token/ });
      assertRefused(await update({ ...token, mount_path: "a" }), {
        status: 400,
        says: /mount_path/,
      });
      assert.deepEqual((await t.request("GET", `${path}/${added.id}`)).body, added);
    },
  ),
];
