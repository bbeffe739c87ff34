import { afterEach, expect, test, vi } from "vitest";
import { derivedId, newId } from "./new-id.ts";

afterEach(() => void vi.useRealTimers());

test("an id is its prefix and 22 characters without look-alikes", () => {
  expect(newId("sevt")).toMatch(/^sevt_[1-9A-HJ-NP-Za-km-z]{22}$/);
});

test("an id made later is greater, whenever that is", () => {
  const times = [
    "1970-01-01T00:00:00.000Z",
    "2026-11-29T12:00:00.000Z",
    "2026-11-29T12:00:00.001Z",
  ];
  const ids = [...times, "2026-11-29T12:00:01Z", "2500-01-01T00:00:00Z"].map((time) => {
    vi.setSystemTime(time);
    return newId("sevt");
  });
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids.map((id) => id.slice(0, 13))).size).toBe(ids.length);
});

test("a hundred thousand ids of one millisecond differ, and use the whole alphabet evenly", () => {
  vi.setSystemTime("2026-11-29T12:00:00.000Z");
  const ids = Array.from({ length: 100_000 }, () => newId("sevt"));
  expect(new Set(ids).size).toBe(ids.length);
  expect(new Set(ids.map((id) => id.slice(0, 13))).size).toBe(1);
  const counts = new Map<string, number>();
  for (const id of ids) {
    for (const character of id.slice(13)) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  // 24,138 of each on average with a deviation of 154: ten of those are no accident.
  expect(counts.size).toBe(58);
  for (const count of counts.values()) expect(Math.abs(count - 24_138)).toBeLessThan(1_540);
});

test("an id in a copy is of its kind and time, the same each time, and nobody else's", () => {
  const [copy, other] = [newId("sesn"), newId("sesn")];
  const ids = [newId("sevt"), newId("sevt"), newId("sthr"), "sevt_1"];
  const copies = ids.map((id) => derivedId(id, copy));
  expect(copies).toEqual(ids.map((id) => derivedId(id, copy)));
  const all = [...ids, ...copies, ...ids.map((id) => derivedId(id, other))];
  expect(new Set(all).size).toBe(12);
  expect(copies.map((id) => id.slice(0, 13))).toEqual([
    ...ids.slice(0, 3).map((id) => id.slice(0, 13)),
    expect.stringMatching(/^sevt_1/),
  ]);
  expect(copies.slice(0, 3).map(({ length }) => length)).toEqual([27, 27, 27]);
});
