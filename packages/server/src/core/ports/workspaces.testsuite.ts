import { describe, expect, test } from "vitest";
import { type OpenStore, START, uniqueId } from "./store.testsuite.ts";

/** The contract of `Workspaces`, run by the test of every store. */
export function testWorkspaces(open: OpenStore): void {
  describe("Workspaces", () => {
    test("keeps the first that is inserted under an id", async () => {
      await using world = await open();
      const workspace = newWorkspace(0);
      await world.store.write((tx) => tx.workspaces.insert(workspace));
      await world.store.write((tx) => tx.workspaces.insert({ ...workspace, name: "other" }));
      expect(await world.store.workspaces.find(workspace.id)).toEqual(workspace);
      expect(await world.store.workspaces.find(uniqueId("wrkspc"))).toBeUndefined();
    });

    test("lists them by time, and by id where the time is the same", async () => {
      await using world = await open();
      const { store } = world;
      const made = [0, 1, 1, 2].map(newWorkspace);
      await store.write(async (tx) => {
        for (const workspace of made) await tx.workspaces.insert(workspace);
      });
      const seen: string[] = [];
      let after: { created_at: string; id: string } | undefined;
      do {
        const page = {
          limit: 1,
          order: "desc",
          ...(after === undefined ? {} : { after }),
        } as const;
        [after] = await store.workspaces.list(page);
        if (after !== undefined) seen.push(after.id);
      } while (after !== undefined);
      const ids = made.map(({ id }) => id).reverse();
      expect(seen.filter((id) => ids.includes(id))).toEqual(ids);
    });
  });
}

function newWorkspace(second: number) {
  const created_at = new Date(START + second * 1000).toISOString();
  return { id: uniqueId("wrkspc"), name: "Blue", created_at };
}
