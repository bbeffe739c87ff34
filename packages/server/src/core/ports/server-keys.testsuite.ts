import { describe, expect, test } from "vitest";
import { type OpenStore, uniqueId } from "./store.testsuite.ts";

/** The contract of `ServerKeys`, run by the test of every implementation. */
export function testServerKeys(open: OpenStore): void {
  describe("ServerKeys", () => {
    test("keeps the first key of a name, whoever else makes one", async () => {
      await using world = await open();
      const { store } = world;
      const [name, other] = [uniqueId("name"), uniqueId("name")];
      const ensure = (of: string, made: string) =>
        store.write((tx) => tx.serverKeys.ensure(of, made));
      expect(await Promise.all([ensure(name, "first"), ensure(name, "second")])).toEqual([
        "first",
        "first",
      ]);
      expect(await ensure(other, "another")).toBe("another");
      expect(await ensure(name, "third")).toBe("first");
    });
  });
}
