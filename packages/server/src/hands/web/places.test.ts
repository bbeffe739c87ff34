import { expect, test } from "vitest";
import { Places } from "./places.ts";

test("so many work at once, the rest in their order, also after one failed", async () => {
  const places = new Places(2);
  const begun: number[] = [];
  const ends = Array.from({ length: 4 }, () => Promise.withResolvers<number>());
  const works = ends.map(({ promise }, index) =>
    places.take(() => {
      begun.push(index);
      return promise;
    }),
  );
  expect(begun).toEqual([0, 1]);
  ends[1]?.reject(new Error("failed"));
  await expect(works[1]).rejects.toThrow("failed");
  expect(begun).toEqual([0, 1, 2]);
  for (const [index, { resolve }] of ends.entries()) resolve(index);
  expect(await Promise.all([works[0], works[2], works[3]])).toEqual([0, 2, 3]);
  expect(await places.take(async () => "free again")).toBe("free again");
});
