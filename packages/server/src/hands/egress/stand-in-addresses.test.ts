import { expect, test } from "vitest";
import { isStandIn, StandInAddresses } from "./stand-in-addresses.ts";

test("a name keeps its address, and the address its name", () => {
  const standIns = new StandInAddresses();
  const [a, b] = [standIns.addressOf("a.test"), standIns.addressOf("b.test")];
  expect(a).not.toBe(b);
  expect(isStandIn(a)).toBe(true);
  expect(standIns.addressOf("a.test")).toBe(a);
  expect([standIns.nameOf(a), standIns.nameOf(b)]).toEqual(["a.test", "b.test"]);
  expect(standIns.nameOf("198.18.200.200")).toBeUndefined();
});

test("only so many names are known, and those in use are kept", () => {
  const standIns = new StandInAddresses();
  const kept = standIns.addressOf("kept.test");
  const lost = standIns.addressOf("lost.test");
  const seen = new Set<string>();
  for (let round = 0; round < 150_000; round += 1) {
    const address = standIns.addressOf(`${round}.test`);
    seen.add(address);
    if (round % 1_000 === 0) expect(standIns.nameOf(kept)).toBe("kept.test");
  }
  expect([...seen].filter((address) => !isStandIn(address))).toEqual([]);
  expect(seen.has(kept)).toBe(false);
  expect(standIns.nameOf(lost)).not.toBe("lost.test");
  // All of the network's addresses were given out before one was given again.
  expect(seen.size).toBeGreaterThan(130_000);
  expect(seen.has("198.18.0.1")).toBe(false);
});
