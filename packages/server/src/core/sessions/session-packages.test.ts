import { expect, test } from "vitest";
import { newEnvironment } from "../environments/definition.ts";
import type { SandboxBase } from "../ports/hands.ts";
import { sessionPackages } from "./session-packages.ts";

const HOST: SandboxBase = { type: "host" };
const BUILT: SandboxBase = { type: "built", name: "full" };

function packagesOf(packages: Record<string, string[]>, base = HOST, setting?: "none") {
  const { config } = newEnvironment({ name: "e", config: { type: "cloud", packages } });
  return sessionPackages({ environment: config, setting, base });
}

test("a session has its environment's packages, in one order and once", () => {
  expect(packagesOf({ pip: ["b", "a==1", "b"], npm: [] })).toEqual({ pip: ["a==1", "b"] });
  expect(packagesOf({ apt: ["jq"], go: ["x@v1"] }, BUILT)).toEqual({ apt: ["jq"], go: ["x@v1"] });
  expect(packagesOf({})).toBeUndefined();
  expect(packagesOf({}, HOST, "none")).toBeUndefined();
  const { config } = newEnvironment({ name: "e", config: { type: "self_hosted" } });
  expect(sessionPackages({ environment: config, setting: undefined, base: HOST })).toBeUndefined();
});

test("what can never be installed is refused by its name, with the setting to change", () => {
  expect(() => packagesOf({ apt: ["jq"] })).toThrow(
    /^environment\.config\.packages\.apt: .*DROVER_SANDBOX_BASE/,
  );
  expect(() => packagesOf({ pip: ["x"] }, HOST, "none")).toThrow(
    /^environment\.config\.packages\.pip: .*DROVER_SANDBOX_NETWORK/,
  );
});
