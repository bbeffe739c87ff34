import { expect, test } from "vitest";
import { ConfigError, loadConfig } from "./config.ts";
import { sandboxLimitVariables } from "./config-sandbox.ts";

test("limits are read, nought being none, and written as they were", () => {
  const settings = {
    DROVER_SANDBOX_MEMORY_MB: "0",
    DROVER_SANDBOX_CPUS: "1.5",
    DROVER_SANDBOX_PROCESSES: "64",
    DROVER_SANDBOX_OPEN_FILES: "256",
    DROVER_SANDBOX_DISK_MB: "100",
    DROVER_SANDBOX_ENFORCE: "required",
  };
  const { sandboxLimits } = loadConfig(settings);
  const diskBytes = 100 * 1024 * 1024;
  const others = { cpus: 1.5, processes: 64, openFiles: 256, enforce: "required" };
  expect(sandboxLimits).toEqual({ ...others, diskBytes });
  expect(sandboxLimitVariables(sandboxLimits)).toEqual(settings);
  const usual = loadConfig({}).sandboxLimits;
  expect(loadConfig(sandboxLimitVariables(usual)).sandboxLimits).toEqual(usual);
});

test.each([
  ["DROVER_SANDBOX_MEMORY_MB", "63"],
  ["DROVER_SANDBOX_MEMORY_MB", "64.5"],
  ["DROVER_SANDBOX_CPUS", "-1"],
  ["DROVER_SANDBOX_CPUS", "0.001"],
  ["DROVER_SANDBOX_PROCESSES", "0"],
  ["DROVER_SANDBOX_OPEN_FILES", "many"],
  ["DROVER_SANDBOX_DISK_MB", "63"],
  ["DROVER_SANDBOX_DISK_MB", "2000000"],
  ["DROVER_SANDBOX_ENFORCE", "maybe"],
])("%s may not be %s", (name, value) => {
  expect(() => loadConfig({ [name]: value })).toThrow(ConfigError);
  expect(() => loadConfig({ [name]: value })).toThrow(name);
});
