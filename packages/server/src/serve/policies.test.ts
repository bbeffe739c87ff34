import { expect, test } from "vitest";
import { loadConfig } from "../config.ts";
import { WORKAROUND_NAMES } from "../core/harness/workarounds.ts";
import { policiesOf } from "./policies.ts";

const off = (value: string) => [...policiesOf(loadConfig({ DROVER_POLICIES_OFF: value })).off];

test("workarounds are switched off by name, several at once, or all of them", () => {
  expect(off("")).toEqual([]);
  expect(off("effort_left_out")).toEqual(["effort_left_out"]);
  expect(off(" effort_left_out , effort_left_out,")).toEqual(["effort_left_out"]);
  expect(off("all")).toEqual(WORKAROUND_NAMES);
});

test("a name that is not one is refused, with what was meant", () => {
  expect(() => off("effort_left_ou")).toThrow(
    "DROVER_POLICIES_OFF is not usable: there is no policy effort_left_ou. Did you mean effort_left_out?",
  );
  expect(() => off("everything")).toThrow(/There are: all, effort_left_out/);
});
