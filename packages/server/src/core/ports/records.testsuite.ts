import { describe, expect, test } from "vitest";
import { ConflictError } from "../errors.ts";
import type { AgentRecord, ApiKeyRecord, EnvironmentRecord, FileRecord } from "./records.ts";
import { mountOf } from "./sessions.testsuite.ts";
import { keyOf, newSession, type OpenStore, START, uniqueId } from "./store.testsuite.ts";

const at = (ms: number): string => new Date(START + ms).toISOString();
const FIRST = { limit: 100, order: "asc" } as const;

/** The contract of the records' ports, run by the test of every implementation. */
export function testRecords(open: OpenStore): void {
  describe("Agents", () => testAgents(open));
  describe("Environments", () => testEnvironments(open));
  describe("Files", () => testFiles(open));
  describe("Files", () => testContentOfFiles(open));
  describe("ApiKeys", () => testApiKeys(open));
  describe("AnsweredRequests", () => testAnsweredRequests(open));
}

function testAgents(open: OpenStore): void {
  test("finds the latest version and every earlier one, unchanged", async () => {
    await using world = await open();
    const { store } = world;
    const first = newAgent();
    const second = { ...first, version: 2, updated_at: at(5), body: { name: "B", tools: [1] } };
    const { workspace_id, id } = first;
    await store.write((tx) => tx.agents.put(first));
    await store.write((tx) => tx.agents.put(second));
    expect(await store.agents.find(workspace_id, id)).toEqual(second);
    expect(await store.agents.find(workspace_id, id, 1)).toEqual(first);
    expect(await store.agents.find(workspace_id, id, 3)).toBeUndefined();
    expect(await store.agents.find(uniqueId("wrkspc"), id)).toBeUndefined();
    expect(await store.agents.listVersions(workspace_id, id, { limit: 1 })).toEqual([second]);
    const older = await store.agents.listVersions(workspace_id, id, { limit: 9, after: 2 });
    expect(older).toEqual([first]);
  });

  test("refuses a version that is there already", async () => {
    await using world = await open();
    const { store } = world;
    const agent = newAgent();
    await store.write((tx) => tx.agents.put(agent));
    const again = store.write((tx) => tx.agents.put({ ...agent, body: {} }));
    await expect(again).rejects.toThrow(ConflictError);
    expect(await store.agents.find(agent.workspace_id, agent.id)).toEqual(agent);
  });

  test("archives all versions of an agent and leaves it out of lists", async () => {
    await using world = await open();
    const { store } = world;
    const workspace_id = uniqueId("wrkspc");
    const agent = newAgent({ workspace_id });
    const other = newAgent({ workspace_id, created_at: at(10) });
    await store.write(async (tx) => {
      await tx.agents.put(agent);
      await tx.agents.put({ ...agent, version: 2 });
      await tx.agents.put(other);
      await tx.agents.archive(workspace_id, agent.id, at(20));
    });
    const archived = { ...agent, archived_at: at(20) };
    expect(await store.agents.find(workspace_id, agent.id, 1)).toEqual(archived);
    expect(await store.agents.list(workspace_id, {}, FIRST)).toEqual([other]);
    const list = await store.agents.list(workspace_id, { includeArchived: true }, FIRST);
    expect(list).toEqual([{ ...archived, version: 2 }, other]);
    const late = { includeArchived: true, createdAt: { gte: at(1), lte: at(10) } };
    expect(await store.agents.list(workspace_id, late, FIRST)).toEqual([other]);
  });
}

function testEnvironments(open: OpenStore): void {
  test("stores, changes, lists and deletes an environment", async () => {
    await using world = await open();
    const { store } = world;
    const environment = newEnvironment();
    const { workspace_id, id } = environment;
    await store.write((tx) => tx.environments.insert(environment));
    expect(await store.environments.find(workspace_id, id)).toEqual(environment);
    const changed = { ...environment, name: "new", updated_at: at(1), body: { b: [null] } };
    await store.write((tx) => tx.environments.update(changed));
    expect(await store.environments.list(workspace_id, {}, FIRST)).toEqual([changed]);
    const archived = { ...changed, archived_at: at(2) };
    await store.write((tx) => tx.environments.update(archived));
    expect(await store.environments.list(workspace_id, {}, FIRST)).toEqual([]);
    const all = await store.environments.list(workspace_id, { includeArchived: true }, FIRST);
    expect(all).toEqual([archived]);
    await store.write((tx) => tx.environments.delete(workspace_id, id));
    expect(await store.environments.find(workspace_id, id)).toBeUndefined();
  });

  test("lets one unarchived environment of a workspace have a name", async () => {
    await using world = await open();
    const { store } = world;
    const first = newEnvironment();
    const { workspace_id, name } = first;
    const second = newEnvironment({ workspace_id, name });
    const third = newEnvironment({ workspace_id, name: "third" });
    const insert = (environment: EnvironmentRecord) =>
      store.write((tx) => tx.environments.insert(environment));
    const update = (environment: EnvironmentRecord) =>
      store.write((tx) => tx.environments.update(environment));
    await insert(first);
    await insert(third);
    await insert(newEnvironment({ name }));
    await expect(insert(second)).rejects.toThrow(ConflictError);
    await expect(update({ ...third, name })).rejects.toThrow(ConflictError);
    await update({ ...first, archived_at: at(1) });
    await insert(second);
    await expect(update(first)).rejects.toThrow(ConflictError);
  });

  test("is used while a session made in it is not deleted", async () => {
    await using world = await open();
    const { store } = world;
    const session = newSession();
    const isUsed = () =>
      store.write((tx) => tx.environments.isUsed(session.workspace_id, session.environment_id));
    expect(await isUsed()).toBe(false);
    await store.write((tx) => tx.sessions.insert(session));
    expect(await isUsed()).toBe(true);
    await store.write((tx) => tx.sessions.delete(keyOf(session)));
    expect(await isUsed()).toBe(false);
  });
}

function testFiles(open: OpenStore): void {
  test("stores, finds, lists and deletes files", async () => {
    await using world = await open();
    const { store } = world;
    const workspace_id = uniqueId("wrkspc");
    const session_id = uniqueId("sesn");
    const upload = newFile({ workspace_id });
    const copy = newFile({ workspace_id, session_id, downloadable: false, created_at: at(1) });
    await store.write((tx) => tx.files.insert(upload));
    await store.write((tx) => tx.files.insert(copy));
    expect(await store.files.find(workspace_id, upload.id)).toEqual(upload);
    const ids = [copy.id, "file_of_nobody", upload.id];
    expect(await store.files.findMany(workspace_id, ids)).toEqual([upload, copy]);
    expect(await store.files.findMany(workspace_id, [])).toEqual([]);
    expect(await store.files.findMany(uniqueId("wrkspc"), ids)).toEqual([]);
    expect(await store.files.list(workspace_id, {}, FIRST)).toEqual([upload, copy]);
    expect(await store.files.list(workspace_id, { sessionId: session_id }, FIRST)).toEqual([copy]);
    await store.write((tx) => tx.files.deleteOfSession(workspace_id, session_id));
    expect(await store.files.list(workspace_id, {}, FIRST)).toEqual([upload]);
    await store.write((tx) => tx.files.delete(workspace_id, upload.id));
    expect(await store.files.list(workspace_id, {}, FIRST)).toEqual([]);
  });

  test("keeps the id and place of an output whose content changes", async () => {
    await using world = await open();
    const { store } = world;
    const session_id = uniqueId("sesn");
    const first = newFile({ session_id, output_path: "a/b.txt" });
    const { workspace_id } = first;
    const newer = newFile({
      ...{ workspace_id, session_id, output_path: "a/b.txt" },
      ...{ sha256: "b".repeat(64), size_bytes: 9, created_at: at(9) },
    });
    const other = newFile({ workspace_id, session_id, output_path: "a/c.txt", created_at: at(1) });
    await store.write(async (tx) => {
      await tx.files.putOutput(first);
      await tx.files.putOutput(other);
      await tx.files.putOutput(newer);
    });
    const { id, created_at } = first;
    expect(await store.files.list(workspace_id, {}, FIRST)).toEqual([
      { ...newer, id, created_at },
      other,
    ]);
  });

  test("knows content that a file or a session's recipe needs, within the workspace", async () => {
    await using world = await open();
    const { store } = world;
    const [inFile, inRecipe, replaced] = ["a", "b", "c"].map((digit) => digit.repeat(64));
    const { recipe } = newSession();
    const mounts = [mountOf(replaced ?? ""), mountOf(inRecipe ?? ""), mountOf(inRecipe ?? "")];
    const session = newSession({ recipe: { ...recipe, mounts } });
    const { workspace_id } = session;
    const file = newFile({ workspace_id, sha256: inFile ?? "" });
    await store.write((tx) => tx.sessions.insert(session));
    await store.write((tx) => tx.files.insert(file));
    const referenced = async (workspaceId = workspace_id) => {
      const answers: boolean[] = [];
      for (const sha256 of [inFile, inRecipe, replaced]) {
        const ask = store.write((tx) => tx.files.isReferenced(workspaceId, sha256 ?? ""));
        answers.push(await ask);
      }
      return answers;
    };
    expect(await referenced()).toEqual([true, true, true]);
    expect(await referenced(uniqueId("wrkspc"))).toEqual([false, false, false]);
    const newRecipe = { ...recipe, mounts: [mountOf(inRecipe ?? "")] };
    await store.write((tx) => tx.sessions.update(keyOf(session), { recipe: newRecipe }));
    expect(await referenced()).toEqual([true, true, false]);
    await store.write((tx) => tx.sessions.delete(keyOf(session)));
    expect(await referenced()).toEqual([true, false, false]);
    await store.write((tx) => tx.files.delete(workspace_id, file.id));
    expect(await referenced()).toEqual([false, false, false]);
  });
}

function testContentOfFiles(open: OpenStore): void {
  test("lets the content of expired files go, and keeps the files without it", async () => {
    await using world = await open();
    const { store } = world;
    const workspace_id = uniqueId("wrkspc");
    const [one = "", two = ""] = ["1", "2"].map((digit) => digit.repeat(64));
    const expired = newFile({ workspace_id, sha256: one, expires_at: at(5) });
    const also = newFile({ workspace_id, sha256: one, expires_at: at(6) });
    const later = newFile({ workspace_id, sha256: two, expires_at: at(7) });
    const never = newFile({ workspace_id, sha256: two });
    await store.write(async (tx) => {
      for (const file of [expired, also, later, never]) await tx.files.insert(file);
    });
    const purge = (before: string, limit = 100) =>
      store.write((tx) => tx.files.purgeExpired(before, limit));
    const isNeeded = (sha256: string) =>
      store.write((tx) => tx.files.isReferenced(workspace_id, sha256));
    const loose = async () =>
      (await store.write((tx) => tx.looseBlobs.list(at(1_000), 100)))
        .filter((blob) => blob.workspaceId === workspace_id)
        .map(({ sha256 }) => sha256[0]);
    expect([await purge(at(5)), await loose()]).toEqual([0, []]);
    expect([await purge(at(7), 1), await isNeeded(one)]).toEqual([1, true]);
    expect([await purge(at(7)), await isNeeded(one), await isNeeded(two)]).toEqual([
      1,
      false,
      true,
    ]);
    expect([await purge(at(7)), await loose()]).toEqual([0, ["1"]]);
    expect(await store.files.find(workspace_id, expired.id)).toEqual({ ...expired, sha256: "" });
    expect(await store.files.find(workspace_id, later.id)).toEqual(later);
    await store.write((tx) => tx.files.delete(workspace_id, expired.id));
    expect(await loose()).toEqual(["1"]);
  });

  test("counts the bytes of a workspace's contents, each once", async () => {
    await using world = await open();
    const { store } = world;
    const workspace_id = uniqueId("wrkspc");
    const size_bytes = 3_000_000_000;
    const bytes = (workspaceId = workspace_id) =>
      store.write((tx) => tx.files.contentBytes(workspaceId));
    expect(await bytes()).toBe(0);
    const [one, two] = ["1", "2"].map((digit) => digit.repeat(64));
    const files = [one, one, two].map((sha256 = "") =>
      newFile({ workspace_id, sha256, size_bytes, expires_at: at(5) }),
    );
    await store.write(async (tx) => {
      for (const file of files) await tx.files.insert(file);
    });
    expect([await bytes(), await bytes(uniqueId("wrkspc"))]).toEqual([2 * size_bytes, 0]);
    await store.write((tx) => tx.files.delete(workspace_id, files[2]?.id ?? ""));
    expect(await bytes()).toBe(size_bytes);
    await store.write((tx) => tx.files.purgeExpired(at(6), 100));
    expect(await bytes()).toBe(0);
  });
}

function testApiKeys(open: OpenStore): void {
  test("finds a key by its digest in any workspace until it is revoked", async () => {
    await using world = await open();
    const { store } = world;
    const key = newApiKey();
    await store.write((tx) => tx.apiKeys.insert(key));
    expect(await store.apiKeys.findBySha256(key.key_sha256)).toEqual(key);
    const again = store.write((tx) =>
      tx.apiKeys.insert({ ...newApiKey(), key_sha256: key.key_sha256 }),
    );
    await expect(again).rejects.toThrow();
    await store.write((tx) => tx.apiKeys.revoke(uniqueId("wrkspc"), key.id, at(1)));
    expect(await store.apiKeys.findBySha256(key.key_sha256)).toEqual(key);
    await store.write((tx) => tx.apiKeys.revoke(key.workspace_id, key.id, at(1)));
    await store.write((tx) => tx.apiKeys.revoke(key.workspace_id, key.id, at(2)));
    expect(await store.apiKeys.findBySha256(key.key_sha256)).toBeUndefined();
    expect(await store.apiKeys.list(key.workspace_id)).toEqual([{ ...key, revoked_at: at(1) }]);
  });
}

function testAnsweredRequests(open: OpenStore): void {
  test("finds the newest answer for a key that is not too old", async () => {
    await using world = await open();
    const { store } = world;
    const workspace_id = uniqueId("wrkspc");
    const answer = { workspace_id, request_key: "k", attempt: 0, status: 200, body: "1" };
    const put = (body: string, ms: number) =>
      store.write((tx) =>
        tx.answeredRequests.put({ ...answer, body, attempt: ms, created_at: at(ms) }),
      );
    const find = (workspaceId: string, sinceMs: number) =>
      store.write((tx) => tx.answeredRequests.find(workspaceId, "k", at(sinceMs)));
    expect(await find(workspace_id, 0)).toBeUndefined();
    await put("first", 0);
    await put("second", 10);
    const second = { ...answer, body: "second", attempt: 10, created_at: at(10) };
    expect(await find(workspace_id, 10)).toEqual(second);
    expect(await find(workspace_id, 11)).toBeUndefined();
    expect(await find(uniqueId("wrkspc"), 0)).toBeUndefined();
  });

  test("prunes the oldest answers, so many at a time", async () => {
    await using world = await open();
    const { store } = world;
    const workspace_id = uniqueId("wrkspc");
    const answer = { workspace_id, attempt: 0, status: 200, body: "" };
    await store.write(async (tx) => {
      for (const ms of [30, 10, 20]) {
        const request_key = `${ms}`;
        await tx.answeredRequests.put({ ...answer, request_key, created_at: at(ms) });
      }
    });
    const kept = async () => {
      const found: string[] = [];
      for (const key of ["10", "20", "30"]) {
        const answered = await store.write((tx) =>
          tx.answeredRequests.find(workspace_id, key, at(0)),
        );
        if (answered !== undefined) found.push(key);
      }
      return found;
    };
    await store.write((tx) => tx.answeredRequests.prune(at(30), 1));
    expect(await kept()).toEqual(["20", "30"]);
    await store.write((tx) => tx.answeredRequests.prune(at(30), 100));
    expect(await kept()).toEqual(["30"]);
  });
}

function newAgent(changes: Partial<AgentRecord> = {}): AgentRecord {
  return {
    workspace_id: uniqueId("wrkspc"),
    id: uniqueId("agent"),
    version: 1,
    created_at: at(0),
    updated_at: at(0),
    archived_at: null,
    body: { name: "A", metadata: {} },
    ...changes,
  };
}

function newEnvironment(changes: Partial<EnvironmentRecord> = {}): EnvironmentRecord {
  return {
    workspace_id: uniqueId("wrkspc"),
    id: uniqueId("env"),
    name: uniqueId("name"),
    created_at: at(0),
    updated_at: at(0),
    archived_at: null,
    body: { config: { type: "cloud" } },
    ...changes,
  };
}

export function newFile(changes: Partial<FileRecord> = {}): FileRecord {
  return {
    workspace_id: uniqueId("wrkspc"),
    id: uniqueId("file"),
    filename: "a.txt",
    mime_type: "text/plain",
    size_bytes: 3,
    sha256: "0".repeat(64),
    created_at: at(0),
    expires_at: null,
    session_id: null,
    downloadable: true,
    output_path: null,
    ...changes,
  };
}

function newApiKey(): ApiKeyRecord {
  const id = uniqueId("apikey");
  return {
    workspace_id: uniqueId("wrkspc"),
    id,
    name: "ci",
    role: "developer",
    key_sha256: `digest of ${id}`,
    created_at: at(0),
    revoked_at: null,
  };
}
