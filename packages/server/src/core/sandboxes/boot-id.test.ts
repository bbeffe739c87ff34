import { expect, test } from "vitest";
import { bootId, installationOf } from "./boot-id.ts";

test("a boot tells whose it is", () => {
  const boot = bootId("boot_1", "inst_1");
  expect(boot).not.toBe(bootId("boot_2", "inst_1"));
  expect(installationOf(boot)).toBe("inst_1");
  expect(installationOf(bootId("boot_1", "inst_2"))).toBe("inst_2");
});

test("a boot from before boots told it is nobody's", () => {
  expect(installationOf("boot_1")).toBeUndefined();
});
