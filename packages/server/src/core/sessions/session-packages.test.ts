import { expect, test } from "vitest";
import { newEnvironment } from "../environments/definition.ts";
import type { SandboxBase } from "../ports/hands.ts";
import { sessionPackages } from "./session-packages.ts";

const HOST: SandboxBase = { type: "host" };
const BUILT: SandboxBase = { type: "built", name: "full" };

const OWN = { provider: "bubblewrap", dockerImage: undefined } as const;
type Place = Pick<Parameters<typeof sessionPackages>[0], "provider" | "dockerImage">;

function packagesOf(
  packages: Record<string, string[]>,
  base = HOST,
  { setting, ...place }: Partial<Place> & { setting?: "none" } = {},
) {
  const { config } = newEnvironment({ name: "e", config: { type: "cloud", packages } });
  return sessionPackages({ environment: config, setting, base, ...OWN, ...place });
}

test("a session has its environment's packages, in one order and once", () => {
  expect(packagesOf({ pip: ["b", "a==1", "b"], npm: [] })).toEqual({ pip: ["a==1", "b"] });
  expect(packagesOf({ apt: ["jq"], go: ["x@v1"] }, BUILT)).toEqual({ apt: ["jq"], go: ["x@v1"] });
  expect(packagesOf({})).toBeUndefined();
  expect(packagesOf({}, HOST, { setting: "none" })).toBeUndefined();
  const { config } = newEnvironment({ name: "e", config: { type: "self_hosted" } });
  const place = { setting: undefined, base: HOST, ...OWN };
  expect(sessionPackages({ environment: config, ...place })).toBeUndefined();
});

test("what can never be installed is refused by its name, with the setting to change", () => {
  expect(() => packagesOf({ apt: ["jq"] })).toThrow(
    /^environment\.config\.packages\.apt: .*DROVER_SANDBOX_BASE/,
  );
  expect(() => packagesOf({ pip: ["x"] }, HOST, { setting: "none" })).toThrow(
    /^environment\.config\.packages\.pip: .*DROVER_SANDBOX_NETWORK/,
  );
});

test("an image of the operator's is added to by nobody, a base under it is", () => {
  const image = { provider: "gvisor", dockerImage: "debian:12" } as const;
  expect(() => packagesOf({ npm: ["x"] }, HOST, image)).toThrow(
    /^environment\.config\.packages\.npm: .*DROVER_DOCKER_IMAGE.*gvisor.*DROVER_SANDBOX_BASE/,
  );
  expect(packagesOf({ npm: ["x"] }, BUILT, image)).toEqual({ npm: ["x"] });
  expect(packagesOf({ npm: ["x"] }, HOST, { dockerImage: "debian:12" })).toEqual({ npm: ["x"] });
  expect(packagesOf({ npm: ["x"] }, HOST, { provider: "docker" })).toEqual({ npm: ["x"] });
});
