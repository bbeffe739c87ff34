import { expect, test } from "vitest";
import { Slots } from "./slots.ts";

test("are taken in the order in which they were asked for, and given back once", async () => {
  const slots = new Slots(2);
  const taken: number[] = [];
  const takers = [1, 2, 3, 4].map(async (number) => {
    const giveBack = await slots.take();
    taken.push(number);
    return giveBack;
  });
  const first = await takers[0];
  await takers[1];
  expect(taken).toEqual([1, 2]);
  first?.();
  first?.();
  const third = await takers[2];
  expect(taken).toEqual([1, 2, 3]);
  third?.();
  await takers[3];
  expect(taken).toEqual([1, 2, 3, 4]);
});
