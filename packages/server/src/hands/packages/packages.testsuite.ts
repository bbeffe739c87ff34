import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PackageSet, Recipe } from "../../core/ports/hands.ts";
import type { FailPoint } from "../../lib/fail-point.ts";
import { PUBLIC } from "../egress/outside.testsuite.ts";
import {
  npmRegistry,
  ORIGIN,
  openPackagesWorld,
  outputOf,
  type PackagesWorld,
} from "./packages-world.testsuite.ts";
import { MODULE, PACKAGE, Registries, SAID, VERSION } from "./registries.testsuite.ts";

const PIP: PackageSet = { pip: [`${PACKAGE}==${VERSION}`] };
const HAS_IMPORT = "python3 -c 'import drover_hello' 2>&1 | tail -n 1";
const INSTALL_MS = 60_000;

const MANAGERS = {
  pip: { packages: PIP, program: "hello-pip" },
  gem: { packages: { gem: [`${PACKAGE}:${VERSION}`] }, program: "hello-gem" },
  go: { packages: { go: [`${MODULE}@v${VERSION}`] }, program: PACKAGE },
  cargo: { packages: { cargo: [`${PACKAGE}@${VERSION}`] }, program: PACKAGE },
} satisfies Record<string, { packages: PackageSet; program: string }>;

/** A process that dies at a point of an installation. */
const DYING = (point: string) => `
const at = (path) => import(new URL(path, ${JSON.stringify(pathToFileURL(`${import.meta.dirname}/`).href)}));
const { armFailPoint } = await at("../../lib/fail-point.ts");
const { BubblewrapProvider } = await at("../sandbox/bubblewrap/bubblewrap-provider.ts");
const { openOutfitted } = await at("./open-outfitted.ts");
const { openEgress, openGuard } = await at("../../egress/open-egress.ts");
const { systemClock } = await at("../../lib/system-clock.ts");
const [dataFolder, pip] = process.argv.slice(1);
const inner = new BubblewrapProvider({ dataFolder, blobPath: () => "", egress: { guard: openGuard(["127.0.0.1"]) } });
const provider = openOutfitted(inner, { dataFolder, registries: { pip }, clock: systemClock, report: () => {} });
armFailPoint({ name: ${JSON.stringify(point)}, nth: 1 });
const recipe = { provider: "bubblewrap", base: { type: "host" }, packages: ${JSON.stringify(PIP)}, mounts: [], network: { type: "none" } };
await provider.provision({ workspaceId: "w", handId: "hand_dying", recipe }, new AbortController().signal);
`;

interface Covered {
  readonly managers: readonly (keyof typeof MANAGERS)[];
  /** Where a process dies that installs. */
  readonly points: readonly FailPoint[];
}

/** What holds of packages in sandboxes with the host's programs. Run for every mode. */
export function testPackages(mode: string, { managers, points }: Covered): void {
  describe(`packages (${mode})`, () => {
    let world: PackagesWorld;
    let registries: Registries;
    beforeAll(async () => {
      world = await openPackagesWorld();
      registries = await Registries.open(ORIGIN);
      await world.outside.serve(PUBLIC, 80, registries.server);
    });
    afterAll(async () => {
      registries[Symbol.dispose]();
      await world[Symbol.asyncDispose]();
    });

    test.each(managers)(
      "of %s come from its registry, for every session, and cannot be changed",
      async (name) => {
        const { packages, program } = MANAGERS[name];
        expect(await world.run(program, packages)).toContain(SAID);
        const asked = registries.asked.length;
        expect(asked).toBeGreaterThan(0);
        const change = `touch /opt/packages/${name}/x 2>/dev/null || echo kept; ${program}`;
        expect(await world.run(change, packages)).toBe(`kept\n${SAID}\n`);
        expect(registries.asked.length).toBe(asked);
        expect(await world.run(`${program} 2>/dev/null || echo absent`, {})).toBe("absent\n");
      },
      INSTALL_MS,
    );

    test(
      "are installed once for sessions that start together",
      async () => {
        const provider = world.another();
        world.reported.length = 0;
        // In another order and twice, they are the same.
        const [a, b] = [PACKAGE, `${PACKAGE}>=1`];
        const sets = [
          [a, b],
          [b, a],
          [a, b, a],
        ].map((pip) => ({ pip }));
        const run = (packages: PackageSet) => world.run("hello-pip", packages, { provider });
        expect(await Promise.all(sets.map(run))).toEqual(sets.map(() => `${SAID}\n`));
        expect(world.reported).toEqual(["packages_installing pip", "packages_installed pip"]);
      },
      INSTALL_MS,
    );

    test(
      "that cannot be installed are named, and tried again after a while",
      async () => {
        const packages = { pip: ["drover-absent==9", ...(PIP.pip ?? [])] };
        const failing = () => world.run("true", packages);
        await expect(failing()).rejects.toThrow(
          /pip could not install drover-absent==9 \(exit status 1\), which said:[\s\S]*No matching distribution/,
        );
        const asked = registries.asked.length;
        await expect(failing()).rejects.toThrow(/drover-absent==9[\s\S]*tried again in 15 s/);
        expect(registries.asked.length).toBe(asked);
        await world.clock.advance(15_001);
        await expect(failing()).rejects.toThrow("drover-absent==9");
        expect(registries.asked.length).toBeGreaterThan(asked);
        expect(readdirSync(join(world.folder, "packages/drafts"))).toEqual([]);
        expect(readdirSync(join(world.folder, "hands"))).toEqual([]);
      },
      INSTALL_MS,
    );

    test(
      "that are too many are refused, and what is not used goes when there is too much",
      async () => {
        const packages = { pip: [PACKAGE] };
        const small = world.another({ bytes: 1, lookMs: 1 });
        await expect(world.run("true", packages, { provider: small })).rejects.toThrow(
          /pip could not install drover-hello \(more than 0 MB\)/,
        );
        const layers = () =>
          readdirSync(join(world.folder, "packages")).filter((name) => name !== "drafts");
        const greedy = world.another({ keptBytes: 0 });
        const { signal } = new AbortController();
        const recipe: Recipe = {
          provider: "bubblewrap",
          base: { type: "host" },
          packages: PIP,
          mounts: [],
          network: { type: "none" },
        };
        const request = { workspaceId: "w", handId: "hand_kept", recipe };
        const sandbox = await greedy.provision(request, signal);
        const used = layers();
        expect(await world.run("hello-pip", packages, { provider: greedy })).toContain(SAID);
        expect(layers().filter((name) => used.includes(name)).length).toBe(1);
        expect(await outputOf(sandbox, HAS_IMPORT)).toBe("");
        await greedy.dispose("hand_kept");
        await greedy.reap();
        expect(layers()).toEqual([]);
      },
      INSTALL_MS,
    );
  });

  describe(`an installation whose process was killed (${mode})`, () => {
    test.each(points)(
      "at %s leaves nothing half, and is done again",
      async (point) => {
        using registries = await Registries.open("http://unused.test");
        await new Promise<void>((done) => registries.server.listen(0, "127.0.0.1", done));
        const address = registries.server.address();
        const port = typeof address === "object" ? address?.port : undefined;
        const pip = `http://registry.localhost:${port}/simple`;
        await using world = await openPackagesWorld({ registries: { pip }, real: ["127.0.0.1"] });
        const options = ["--conditions=drover-source", "--input-type=module", "-e", DYING(point)];
        const child = spawn(process.execPath, [...options, world.folder, pip], {
          stdio: "inherit",
        });
        const [, signal] = await new Promise<[number | null, string | null]>((ended) =>
          child.on("exit", (...how) => ended(how)),
        );
        expect(signal).toBe("SIGKILL");
        await world.provider.reap();
        const left = readdirSync(join(world.folder, "packages")).filter(
          (name) => name !== "drafts",
        );
        expect(left).toHaveLength(point === "packages.after_publish" ? 1 : 0);
        expect(readdirSync(join(world.folder, "packages/drafts"))).toEqual([]);
        expect(
          readdirSync(join(world.folder, "hands")).filter((id) => id.startsWith("install-")),
        ).toEqual([]);
        expect(await world.run("hello-pip", PIP)).toBe(`${SAID}\n`);
      },
      INSTALL_MS,
    );
  });
}

/** By the npm registry that this machine uses, for real. */
export function testNpm(mode: string): void {
  test(
    `packages of npm come from the real registry, as they are pinned (${mode})`,
    async () => {
      const registry = npmRegistry();
      await using world = await openPackagesWorld({
        registries: { npm: registry },
        real: [new URL(registry).hostname],
      });
      const packages = { npm: ["is-odd@3.0.1", "semver@7.6.3"] };
      const command = `node -p 'require("is-odd")(3)'; semver -r '>1' 1.0.0 2.0.0`;
      expect(await world.run(command, packages)).toBe("true\n2.0.0\n");
      await expect(world.run("true", { npm: ["is-odd@999.0.0"] })).rejects.toThrow(
        /npm could not install is-odd@999.0.0 [\s\S]*No matching version found/,
      );
    },
    INSTALL_MS,
  );
}
