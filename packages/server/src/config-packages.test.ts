import { expect, test } from "vitest";
import { ConfigError, loadConfig } from "./config.ts";
import { packageRegistryVariables } from "./config-packages.ts";

test("registries are read, and written as they were", () => {
  const settings = {
    DROVER_PACKAGES_APT: "http://mirror.internal/debian",
    DROVER_PACKAGES_CARGO: "sparse+https://crates.internal/index/",
    DROVER_PACKAGES_PIP: "http://[::1]:8080/simple",
  };
  const { packageRegistries } = loadConfig(settings);
  expect(Object.keys(packageRegistries).sort()).toEqual(["apt", "cargo", "pip"]);
  expect(packageRegistryVariables(packageRegistries)).toEqual(settings);
  expect(loadConfig({}).packageRegistries).toEqual({});
});

test.each([
  ["DROVER_PACKAGES_PIP", "pypi.internal"],
  ["DROVER_PACKAGES_PIP", "https://user:secret@pypi.internal/simple"],
  ["DROVER_PACKAGES_NPM", "https://npm.internal/;id"],
  ["DROVER_PACKAGES_GO", "file:///etc"],
  ["DROVER_PACKAGES_GEM", "https://gems.internal/$(id)"],
  ["DROVER_PACKAGES_CARGO", "https://crates.internal/'x'"],
  ["DROVER_SANDBOX_BASE", "../full"],
  ["DROVER_SANDBOX_BASE", "relative/folder"],
])("%s may not be %s", (name, value) => {
  expect(() => loadConfig({ [name]: value })).toThrow(ConfigError);
  expect(() => loadConfig({ [name]: value })).toThrow(name);
});

test.each([
  ["", { type: "host" }],
  ["host", { type: "host" }],
  ["full", { type: "built", name: "full" }],
  ["/srv/root", { type: "directory", path: "/srv/root" }],
])("the base %j", (setting, base) => {
  expect(loadConfig({ DROVER_SANDBOX_BASE: setting }).sandboxBase).toEqual(base);
});
