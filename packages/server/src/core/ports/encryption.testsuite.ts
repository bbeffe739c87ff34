import { describe, expect, test } from "vitest";
import type { SealedPosition, SealedText } from "./encryption.ts";
import { keyOf, newSession, type OpenStore, START, uniqueId } from "./store.testsuite.ts";
import type { Store } from "./store.ts";
import { newCredential } from "./vaults.testsuite.ts";

const at = (ms: number): string => new Date(START + ms).toISOString();

/** The contract of `EncryptionKeys` and `SealedTexts`, run by the test of every implementation. */
export function testEncryption(open: OpenStore): void {
  describe("EncryptionKeys", () => testKeys(open));
  describe("SealedTexts", () => testTexts(open));
}

function testKeys(open: OpenStore): void {
  test("notes which keys are in use, retired and gone", async () => {
    await using world = await open();
    const { store } = world;
    const [first, second] = [uniqueId("key"), uniqueId("key")];
    const mine = async () => {
      const keys = await store.encryptionKeys.list();
      return keys.filter(({ key_id }) => key_id === first || key_id === second);
    };
    await store.write((tx) => tx.encryptionKeys.use(first));
    world.time.now += 10;
    await store.write((tx) => tx.encryptionKeys.use(second));
    await store.write((tx) => tx.encryptionKeys.use(first));
    const [a, b] = await mine();
    expect([a, b].map((key) => [key?.key_id, key?.retired_at])).toEqual([
      [first, null],
      [second, null],
    ]);
    expect(Date.parse(b?.created_at ?? "") - Date.parse(a?.created_at ?? "")).toBe(10);
    await store.write((tx) => tx.encryptionKeys.retire(first, at(20)));
    expect(await mine()).toEqual([{ ...a, retired_at: at(20) }, b]);
    await store.write((tx) => tx.encryptionKeys.use(first));
    expect(await mine()).toEqual([a, b]);
    await store.write((tx) => tx.encryptionKeys.remove(first));
    expect(await mine()).toEqual([b]);
  });
}

function testTexts(open: OpenStore): void {
  test("lists every stored secret once, page by page, and replaces one where it is", async () => {
    await using world = await open();
    const { store } = world;
    const credentials = [1, 2, 3, 4, 5].map(() => newCredential());
    for (const each of credentials) {
      await store.write((tx) => tx.credentials.insert(each, { token: `sealed ${each.id}` }));
    }
    const [archived, changed] = credentials;
    await store.write((tx) =>
      tx.credentials.archive(archived?.workspace_id ?? "", archived?.id ?? "", at(1)),
    );
    const texts = await all(store);
    expect(
      texts.map(({ sealed }) => sealed).filter((text) => text.startsWith("sealed vcrd")),
    ).toEqual(expect.arrayContaining(credentials.slice(1).map(({ id }) => `sealed ${id}`)));
    expect(new Set(texts.map(({ sealed }) => sealed)).size).toBe(texts.length);
    expect(texts.map(({ sealed }) => sealed)).not.toContain(`sealed ${archived?.id}`);
    const text = texts.find(({ sealed }) => sealed === `sealed ${changed?.id}`);
    if (text === undefined) throw new Error("not listed");
    const sealed = `renewed ${changed?.id}`;
    await store.write((tx) => tx.sealedTexts.replace(text, sealed));
    const renewed = (await all(store)).filter((each) => each.sealed === sealed);
    expect(renewed).toEqual([{ ...text, sealed }]);
  });

  test("goes on from column to column, whatever their keys are made of", async () => {
    await using world = await open();
    const { store } = world;
    const workspace_id = uniqueId("wrkspc");
    const sessions = Array.from({ length: 12 }, () => newSession({ workspace_id }));
    const credentials = Array.from({ length: 3 }, () => newCredential());
    for (const session of sessions) {
      await store.write(async (tx) => {
        await tx.sessions.insert(session);
        for (const id of ["sesrsc_1", "sesrsc_2"]) {
          await tx.sessions.putRepositoryToken(keyOf(session), id, `${session.id} ${id}`);
        }
      });
    }
    for (const each of credentials) {
      await store.write((tx) => tx.credentials.insert(each, { token: `sealed ${each.id}` }));
    }
    const expected = [
      ...sessions.flatMap(({ id }) => [`${id} sesrsc_1`, `${id} sesrsc_2`]),
      ...credentials.map(({ id }) => `sealed ${id}`),
    ];
    const texts = (await all(store)).filter(({ sealed }) => expected.includes(sealed));
    expect(texts.map(({ sealed }) => sealed).sort()).toEqual(expected.toSorted());
    for (const text of texts) {
      await store.write((tx) => tx.sealedTexts.replace(text, `new ${text.sealed}`));
    }
    const [session] = sessions;
    if (session === undefined) throw new Error("no session");
    const token = await store.sessions.findRepositoryToken(keyOf(session), "sesrsc_2");
    expect(token).toBe(`new ${session.id} sesrsc_2`);
  });

  test("leaves a secret that was changed or taken away meanwhile", async () => {
    await using world = await open();
    const { store } = world;
    const [changed, archived] = [newCredential(), newCredential()];
    for (const each of [changed, archived]) {
      await store.write((tx) => tx.credentials.insert(each, { token: `sealed ${each.id}` }));
    }
    const mine = [changed, archived].map(({ id }) => `sealed ${id}`);
    const texts = (await all(store)).filter(({ sealed }) => mine.includes(sealed));
    expect(texts).toHaveLength(2);
    await store.write((tx) => tx.credentials.update(changed, { token: `new ${changed.id}` }));
    await store.write((tx) => tx.credentials.archive(archived.workspace_id, archived.id, at(1)));
    const renewed = `renewed ${changed.id}`;
    for (const text of texts) await store.write((tx) => tx.sealedTexts.replace(text, renewed));
    const left = (await all(store)).map(({ sealed }) => sealed);
    expect(left).toContain(`new ${changed.id}`);
    expect(left).not.toContain(renewed);
  });
}

async function all(store: Store): Promise<readonly SealedText[]> {
  const texts: SealedText[] = [];
  let after: SealedPosition | undefined;
  for (;;) {
    const page = { limit: 2, ...(after && { after }) };
    const found = await store.write((tx) => tx.sealedTexts.list(page));
    texts.push(...found);
    after = found.at(-1)?.position;
    if (after === undefined) return texts;
  }
}
