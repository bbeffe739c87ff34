import { describe, expect, test } from "vitest";
import { newFile } from "./records.testsuite.ts";
import { mountOf } from "./sessions.testsuite.ts";
import { keyOf, newSession, type OpenStore, START, uniqueId } from "./store.testsuite.ts";
import type { StoreTransaction } from "./store.ts";

const at = (ms: number): string => new Date(START + ms).toISOString();

/** The contract of `LooseBlobs`, run by the test of every implementation. */
export function testLooseBlobs(open: OpenStore): void {
  describe("LooseBlobs", () => {
    testNoting(open);
    testListing(open);
  });
}

function testNoting(open: OpenStore): void {
  test("notes what content lost a reference, in the transaction that took it away", async () => {
    await using world = await open();
    const { store } = world;
    const [mounted, replaced, output, newer, plain] = ["a", "b", "c", "d", "e"].map((digit) =>
      digit.repeat(64),
    );
    const { recipe } = newSession();
    const withMount = (sha256 = "") => ({ ...recipe, mounts: [mountOf(sha256)] });
    const session = newSession({ recipe: withMount(replaced) });
    const { workspace_id, id: session_id } = session;
    const key = keyOf(session);
    const file = newFile({ workspace_id, sha256: plain ?? "" });
    const outputFile = newFile({
      workspace_id,
      session_id,
      output_path: "a",
      sha256: output ?? "",
    });
    const loose = async () => {
      const found = await store.write((tx) => tx.looseBlobs.list(at(1_000), 10));
      return found
        .filter(({ workspaceId }) => workspaceId === workspace_id)
        .map(({ sha256, since }) => `${sha256[0]} ${Date.parse(since) - START}`);
    };
    await store.write(async (tx) => {
      await tx.sessions.insert(session);
      await tx.files.insert(file);
      await tx.files.putOutput(outputFile);
      await tx.files.putOutput(outputFile);
    });
    expect(await loose()).toEqual([]);
    const step = async (work: (tx: StoreTransaction) => Promise<void>) => {
      world.time.now += 1;
      await store.write(work);
      return await loose();
    };
    const recipeNow = withMount(mounted);
    expect(await step((tx) => tx.sessions.update(key, { recipe: recipeNow }))).toEqual(["b 1"]);
    const changed = { ...outputFile, sha256: newer ?? "" };
    expect(await step((tx) => tx.files.putOutput(changed))).toEqual(["b 1", "c 2"]);
    expect(await step((tx) => tx.files.delete(workspace_id, file.id))).toHaveLength(3);
    expect(await step((tx) => tx.files.delete(workspace_id, file.id))).toHaveLength(3);
    await step(async (tx) => {
      await tx.files.deleteOfSession(workspace_id, session_id);
      await tx.sessions.delete(key);
    });
    expect(await loose()).toEqual(["b 1", "c 2", "e 3", "a 5", "d 5"]);
    expect(await step((tx) => tx.looseBlobs.add(workspace_id, output ?? ""))).toEqual([
      "b 1",
      "e 3",
      "a 5",
      "d 5",
      "c 6",
    ]);
  });
}

function testListing(open: OpenStore): void {
  test("lists what was noted long enough ago, and keeps what was noted again", async () => {
    await using world = await open();
    const { store } = world;
    const workspaceId = uniqueId("wrkspc");
    const add = (sha256: string) => store.write((tx) => tx.looseBlobs.add(workspaceId, sha256));
    const list = (before: string, limit = 10) =>
      store.write((tx) => tx.looseBlobs.list(before, limit));
    await add("b");
    await add("a");
    world.time.now += 5;
    await add("c");
    const [a, b] = await list(at(5));
    expect([a, b]).toEqual([
      { workspaceId, sha256: "a", since: at(0) },
      { workspaceId, sha256: "b", since: at(0) },
    ]);
    expect(await list(at(6), 1)).toEqual([a]);
    await add("b");
    await store.write(async (tx) => {
      for (const blob of [a, b]) if (blob !== undefined) await tx.looseBlobs.remove(blob);
    });
    expect((await list(at(6))).map(({ sha256 }) => sha256)).toEqual(["b", "c"]);
  });
}
