import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { newCredential } from "../core/ports/vaults.testsuite.ts";
import { ManualClock } from "../hands/fake/manual-clock.ts";
import { OperatorError } from "../lib/operator-error.ts";
import { Secret } from "../lib/secret.ts";
import { openMemoryStore } from "../store/sqlite/memory-store.testsuite.ts";
import { createEnvelopeBox } from "../vault/envelope-box.ts";
import { givenKeys } from "../vault/given-keys.ts";
import { renewSecrets, useCurrentKey } from "./encryption.ts";

const newKey = () => new Secret(randomBytes(32).toString("base64"));
const boxOf = (...keys: Secret[]) => createEnvelopeBox(givenKeys(keys, "the test"));

function world() {
  const store = openMemoryStore({
    clock: new ManualClock(),
    announcements: { publish: () => undefined },
  });
  const start = (...keys: Secret[]) =>
    store.write((tx) => useCurrentKey(tx, boxOf(...keys), "the test"));
  const renew = (...keys: Secret[]) =>
    renewSecrets({ store, box: boxOf(...keys) }, () => undefined);
  const seal = async (count: number, key: Secret) => {
    const credentials = Array.from({ length: count }, () => newCredential());
    for (const each of credentials) {
      const sealed = boxOf(key).seal(new Secret(each.id), "place");
      await store.write((tx) => tx.credentials.insert(each, { token: sealed }));
    }
    return credentials;
  };
  const open = async (key: Secret, { workspace_id, id }: ReturnType<typeof newCredential>) => {
    const { token } = await store.write((tx) => tx.credentials.findSecrets(workspace_id, id));
    return boxOf(key)
      .open(token?.sealed ?? "", "place")
      .reveal();
  };
  const keyIds = async () =>
    (await store.encryptionKeys.list()).map(({ key_id, retired_at }) => [
      key_id,
      retired_at === null ? "in use" : "retired",
    ]);
  return { store, start, renew, seal, open, keyIds };
}

test("a start with the keys that are in use is let through, also after a new one", async () => {
  const { start, keyIds } = world();
  const [old, next] = [newKey(), newKey()];
  await start(old);
  await start(old);
  await start(next, old);
  expect(await keyIds()).toHaveLength(2);
});

test("a start without a key that is in use is refused, with its id and the place to put it", async () => {
  const { start } = world();
  const [old, next] = [newKey(), newKey()];
  await start(old);
  const refused = start(next);
  await expect(refused).rejects.toThrow(OperatorError);
  await expect(refused).rejects.toThrow(boxOf(old).currentKeyId());
  await expect(refused).rejects.toThrow("the test");
  await start(old);
});

test("every secret is renewed, in transactions of a bounded size, and the old key is not needed", async () => {
  const { store, start, seal, open, keyIds } = world();
  const [old, next] = [newKey(), newKey()];
  await start(old);
  const credentials = await seal(250, old);
  await start(next, old);
  const batches: number[] = [];
  const renewal = await renewSecrets({ store, box: boxOf(next, old) }, (renewed) =>
    batches.push(renewed),
  );
  expect(renewal).toEqual({ renewed: 250, unusedKeyIds: [] });
  expect(batches).toEqual([100, 100, 50, 0]);
  for (const each of credentials) expect(await open(next, each)).toBe(each.id);
  expect(await keyIds()).toEqual(
    expect.arrayContaining([
      [boxOf(old).currentKeyId(), "retired"],
      [boxOf(next).currentKeyId(), "in use"],
    ]),
  );
  await start(next);
});

test("a key is given up by the renewal after the one that retired it", async () => {
  const { start, renew, seal, keyIds } = world();
  const [first, second, third] = [newKey(), newKey(), newKey()];
  await start(first);
  await seal(1, first);
  await start(second, first);
  expect(await renew(second, first)).toEqual({ renewed: 1, unusedKeyIds: [] });
  // What another process sealed while it did not know of the second key.
  await seal(1, first);
  await start(third, second, first);
  expect(await renew(third, second, first)).toEqual({
    renewed: 2,
    unusedKeyIds: [boxOf(first).currentKeyId()],
  });
  expect(await keyIds()).toHaveLength(2);
});

test("a renewal that was cut off goes on where it is begun again", async () => {
  const { store, start, seal, open, keyIds } = world();
  const [old, next] = [newKey(), newKey()];
  await start(old);
  const credentials = await seal(250, old);
  await start(next, old);
  const box = boxOf(next, old);
  const cutOff = renewSecrets({ store, box }, () => {
    throw new Error("cut off");
  });
  await expect(cutOff).rejects.toThrow("cut off");
  expect(await keyIds()).toEqual(expect.arrayContaining([[boxOf(old).currentKeyId(), "in use"]]));
  expect(await renewSecrets({ store, box }, () => undefined)).toMatchObject({ renewed: 150 });
  for (const each of credentials) expect(await open(next, each)).toBe(each.id);
});

test("a secret that does not open stops no other, and keeps every key in use", async () => {
  const { start, renew, seal, open, keyIds } = world();
  const [old, lost, next] = [newKey(), newKey(), newKey()];
  await start(old);
  await seal(2, lost);
  const [readable] = await seal(1, old);
  await start(next, old);
  await expect(renew(next, old)).rejects.toThrow("2 stored secrets do not open");
  if (readable !== undefined) expect(await open(next, readable)).toBe(readable.id);
  expect((await keyIds()).map(([, state]) => state)).toEqual(["in use", "in use"]);
  expect(await renew(next, old, lost)).toMatchObject({ renewed: 2 });
});
