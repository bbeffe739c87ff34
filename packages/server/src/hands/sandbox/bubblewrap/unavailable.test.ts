import { expect, test } from "vitest";
import { explainFailure } from "./unavailable.ts";

test.each([
  ["bwrap: setting up uid map: Permission denied", "AppArmor"],
  ["bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "AppArmor"],
  [
    "bwrap: No permissions to create new namespace, likely because",
    "does not allow new namespaces",
  ],
  [
    "bwrap: Creating new namespace failed: No space left on device",
    "does not allow new namespaces",
  ],
  ["drover-launch: unshare: Operation not permitted", "does not allow new namespaces"],
  ["bwrap: Unknown option --disable-userns", "0.8 or newer"],
  ["bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "systempaths=unconfined"],
  ["bwrap: Can't find source path /root/x: Permission denied", "put the data folder"],
])("%j is explained", (why, expected) => {
  const error = explainFailure(`${why} (exit status 1)`);
  expect(error.message).toContain(expected);
  expect(error.cause).toEqual(new Error(`${why} (exit status 1)`));
});

test("what is not known is shown as it is", () => {
  expect(explainFailure("odd (SIGSEGV)").message).toBe(
    "bubblewrap could not make a sandbox: odd (SIGSEGV)",
  );
});
