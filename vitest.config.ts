import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

/**
 * Seven projects, by what they need:
 * - unit: nothing but Node; beside the source.
 * - contract: real files, real processes, a real sandbox, a real PostgreSQL (`*.contract.test.ts` beside the source).
 * - containers: the same, for Docker, gVisor and root file systems of one's own; by `npm test -- --containers` and in CI.
 * - system: a started server, black box, under `test/`.
 * - conformance: a started server on each engine against the whole contract, and the fuzz of its routes.
 * - base: the full root file system of sandboxes, which takes minutes to be built (`npm run test:base`).
 * - faults: the kill campaign, under `test/faults`.
 */
const source = {
  resolve: { conditions: ["drover-source"] },
  ssr: { resolve: { conditions: ["drover-source"] } },
};

/** Hundreds of servers and hands are started from their sources, each of which would be compiled anew. */
const COMPILED = {
  env: { NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/drover/compiled") },
};

/** A worker a core: by itself vitest leaves one core free, of two. */
const BUSY = { maxWorkers: "100%" };

/** These wait for processes, disks and clocks half of the time. */
const WAITING = { maxWorkers: Math.ceil(1.5 * availableParallelism()) };

/**
 * How long a test waits for what is to come about. By itself vitest gives up after one second, which processes, disks
 * and databases need now and then on a machine that has other things to do.
 */
const PATIENT = { expect: { poll: { timeout: 20_000 } } };

/** What takes minutes: sandboxes of a Docker Engine, layers and root file systems. */
const SLOW_SANDBOXES = [
  "packages/server/src/hands/sandbox/docker/docker-*.contract.test.ts",
  "packages/server/src/hands/base/*.contract.test.ts",
  "packages/server/src/hands/packages/*.contract.test.ts",
  "test/system/{docker-providers,packages}.test.ts",
];

/** Starts a PostgreSQL server of the tests' own and ends it with them. */
const POSTGRES = "./scripts/lib/vitest-postgres.js";

export default defineConfig({
  test: {
    fsModuleCache: true,
    projects: [
      {
        ...source,
        test: {
          name: "unit",
          ...BUSY,
          ...PATIENT,
          testTimeout: 30_000,
          // These leave nothing behind, and the modules of the server are many.
          isolate: false,
          include: ["packages/*/src/**/*.test.ts"],
          exclude: ["packages/*/src/**/*.contract.test.ts"],
        },
      },
      {
        ...source,
        test: {
          name: "contract",
          ...COMPILED,
          ...PATIENT,
          ...WAITING,
          include: ["packages/*/src/**/*.contract.test.ts"],
          exclude: SLOW_SANDBOXES,
          globalSetup: POSTGRES,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        ...source,
        test: {
          name: "containers",
          ...COMPILED,
          ...PATIENT,
          ...WAITING,
          include: SLOW_SANDBOXES,
          globalSetup: POSTGRES,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        ...source,
        test: {
          name: "base",
          ...COMPILED,
          include: ["packages/*/src/**/*.slow.ts"],
          testTimeout: 120_000,
        },
      },
      {
        ...source,
        test: {
          name: "system",
          ...COMPILED,
          ...PATIENT,
          include: ["test/**/*.test.ts"],
          exclude: ["test/{faults,conformance,fuzz}/**", ...SLOW_SANDBOXES],
          globalSetup: POSTGRES,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          ...WAITING,
        },
      },
      {
        ...source,
        test: {
          name: "conformance",
          ...COMPILED,
          ...PATIENT,
          include: ["test/{conformance,fuzz}/**/*.test.ts"],
          globalSetup: POSTGRES,
          testTimeout: 300_000,
          hookTimeout: 120_000,
          ...WAITING,
        },
      },
      {
        ...source,
        test: {
          name: "faults",
          ...COMPILED,
          include: ["test/faults/**/*.test.ts"],
          fileParallelism: false,
        },
      },
    ],
  },
});
