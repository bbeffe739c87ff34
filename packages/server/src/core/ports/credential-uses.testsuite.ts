import { describe, expect, test } from "vitest";
import type { CredentialUseFacts } from "./credential-uses.ts";
import { type OpenStore, uniqueId } from "./store.testsuite.ts";

const PAGE = { limit: 100, order: "asc" } as const;

/** The contract of `CredentialUses`, run by the test of every implementation. */
export function testCredentialUses(open: OpenStore): void {
  describe("CredentialUses", () => {
    test("adds what is of one kind and one minute up, and lists it", async () => {
      await using world = await open();
      const { store } = world;
      const facts = newFacts();
      const { workspace_id } = facts;
      const add = (changes: Partial<CredentialUseFacts>, releases: number, requests: number) =>
        store.write((tx) =>
          tx.credentialUses.add(
            { ...facts, ...changes },
            { id: uniqueId("vuse"), releases, requests },
          ),
        );
      await add({}, 1, 0);
      await add({}, 0, 5);
      await add({ host: "b.example.com" }, 1, 0);
      await add({ verdict: "refused", reason: "why" }, 1, 0);
      await add({ workspace_id: uniqueId("wrkspc") }, 1, 0);
      const list = await store.credentialUses.list(workspace_id, {}, PAGE);
      const counts = list.map(({ host, verdict, releases, requests }) =>
        [host, verdict, releases, requests].join(" "),
      );
      // A minute may end in between.
      expect(new Set(counts).size).toBeGreaterThanOrEqual(3);
      const sum = (field: "releases" | "requests") =>
        list.reduce((total, use) => total + use[field], 0);
      expect([sum("releases"), sum("requests")]).toEqual([3, 5]);
      const [first] = list;
      expect(first).toMatchObject({ ...facts, id: expect.stringMatching(/^vuse/) });
    });

    test("a session that makes up hosts for ever has some hundred records a minute", async () => {
      await using world = await open();
      const { store } = world;
      const facts = newFacts();
      await store.write(async (tx) => {
        for (let n = 0; n < 250; n += 1) {
          const use = { ...facts, host: `h${n}.example.com` };
          await tx.credentialUses.add(use, { id: uniqueId("vuse"), releases: 1, requests: 0 });
        }
        const known = { ...facts, host: "h7.example.com" };
        await tx.credentialUses.add(known, { id: uniqueId("vuse"), releases: 1, requests: 0 });
      });
      const list = await store.credentialUses.list(
        facts.workspace_id,
        {},
        { ...PAGE, limit: 1_000 },
      );
      const releases = (host: string) => list.find((use) => use.host === host)?.releases;
      expect([list.length, releases("*"), releases("h7.example.com")]).toEqual([201, 50, 2]);
    });

    test("lists by session, by credential and by page", async () => {
      await using world = await open();
      const { store } = world;
      const { workspace_id } = newFacts();
      const all = [1, 2, 3].map(() => newFacts({ workspace_id }));
      for (const facts of all) {
        await store.write((tx) =>
          tx.credentialUses.add(facts, { id: uniqueId("vuse"), releases: 1, requests: 0 }),
        );
      }
      const [one, two] = all;
      const ids = async (filter: object, page: object = {}) =>
        (await store.credentialUses.list(workspace_id, filter, { ...PAGE, ...page })).map(
          ({ credential_id }) => credential_id,
        );
      expect(await ids({ sessionId: one?.session_id })).toEqual([one?.credential_id]);
      expect(await ids({ credentialId: two?.credential_id })).toEqual([two?.credential_id]);
      expect(await ids({ sessionId: one?.session_id, credentialId: two?.credential_id })).toEqual(
        [],
      );
      const [first] = await store.credentialUses.list(workspace_id, {}, { ...PAGE, limit: 1 });
      if (first === undefined) throw new Error("nothing is listed");
      const after = { created_at: first.first_at, id: first.id };
      const rest = await ids({}, { after });
      expect([first.credential_id, ...rest].sort()).toEqual(
        all.map(({ credential_id }) => credential_id).sort(),
      );
    });
  });
}

function newFacts(changes: Partial<CredentialUseFacts> = {}): CredentialUseFacts {
  return {
    workspace_id: uniqueId("wrkspc"),
    session_id: uniqueId("sesn"),
    api_key_id: null,
    vault_id: "vlt_1",
    credential_id: uniqueId("vcrd"),
    host: "a.example.com",
    purpose: "egress",
    verdict: "released",
    reason: "",
    ...changes,
  };
}
