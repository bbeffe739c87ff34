import { expect, test } from "vitest";
import { BARE_POLICIES, DEFAULT_POLICIES } from "./policies.ts";
import { WORKAROUND_NAMES, WORKAROUNDS, worksAround } from "./workarounds.ts";

test("every workaround has a name of its own, and says what it does and why", () => {
  expect(new Set(WORKAROUND_NAMES).size).toBe(WORKAROUNDS.length);
  for (const { name, does, why } of WORKAROUNDS) {
    expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect([does, why]).toEqual([
      expect.stringMatching(/^[A-Z].+\.$/),
      expect.stringMatching(/^[A-Z].+\.$/),
    ]);
  }
});

test("a workaround is for its models alone, and for none once it is off", () => {
  const of = (policies: typeof DEFAULT_POLICIES, model: string) =>
    worksAround(policies, "effort_left_out", model);
  expect(of(DEFAULT_POLICIES, "claude-haiku-4-5")).toBe(true);
  expect(of(DEFAULT_POLICIES, "claude-opus-5-5")).toBe(false);
  expect(of(BARE_POLICIES, "claude-haiku-4-5")).toBe(false);
});
