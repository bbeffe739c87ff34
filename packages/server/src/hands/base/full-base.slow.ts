import { afterAll, beforeAll, expect, test } from "vitest";
import type { PackageSet, SandboxBase } from "../../core/ports/hands.ts";
import { PUBLIC } from "../egress/outside.testsuite.ts";
import {
  aptSource,
  ORIGIN,
  openPackagesWorld,
  type PackagesWorld,
} from "../packages/packages-world.testsuite.ts";
import { MODULE, PACKAGE, Registries, SAID, VERSION } from "../packages/registries.testsuite.ts";
import { BaseStore } from "./base-store.ts";
import { BASE_PACKAGES, buildBase, DEFAULT_SUITE } from "./build-base.ts";

/** `npm run test:base`: the full base takes minutes to be made, which no other run of tests does. */

const BUILD_MS = 60 * 60_000;
const INSTALL_MS = 10 * 60_000;
const FULL: SandboxBase = { type: "built", name: "full" };

let world: PackagesWorld;
let registries: Registries;

beforeAll(async () => {
  world = await openPackagesWorld();
  const { size_bytes } = await buildBase({
    ...{ store: new BaseStore(world.folder), name: "full", packages: BASE_PACKAGES["full"] ?? [] },
    ...{ suite: DEFAULT_SUITE, mirror: aptSource().mirror },
    onProgress: (line) => process.stderr.write(`${line}\n`),
  });
  process.stderr.write(`full: ${Math.ceil(size_bytes / 1024 ** 2)} MB\n`);
  registries = await Registries.open(ORIGIN);
  await world.outside.serve(PUBLIC, 80, registries.server);
}, BUILD_MS);

afterAll(async () => {
  registries?.[Symbol.dispose]();
  await world?.[Symbol.asyncDispose]();
});

test.each([
  ["python3 -c 'print(sum(range(4)))'", "6\n"],
  ["python3 -m venv /tmp/v && /tmp/v/bin/python -m pip --version | cut -d' ' -f1", "pip\n"],
  ["node -p '[1, 2].length'", "2\n"],
  ["npm --version | grep -c .", "1\n"],
  ["go version | cut -d' ' -f1-2", "go version\n"],
  ["cargo --version | cut -d' ' -f1", "cargo\n"],
  ["ruby -e 'puts 1 + 1'", "2\n"],
  ["echo 'int main() { return 7; }' > a.c && cc a.c && ./a.out; echo $?", "7\n"],
  ["git init -q r && git -C r status | head -n 1", "On branch master\n"],
  ["echo needle > hay && rg -l needle hay", "hay\n"],
  ["echo '[1,2]' | jq -c 'map(. + 1)'", "[2,3]\n"],
  ["sqlite3 :memory: 'select 1 + 1'", "2\n"],
  ["echo x > f && zip -q z.zip f && unzip -l z.zip | grep -c f$", "1\n"],
  [
    "for p in curl file less make patch ps rsync ssh tree wget xz; do command -v $p; done | wc -l",
    "11\n",
  ],
])("the full base runs %s", async (command, said) => {
  expect(await world.run(command, {}, { base: FULL })).toBe(said);
});

test.each<[PackageSet, string]>([
  [{ pip: [`${PACKAGE}==${VERSION}`] }, "hello-pip"],
  [{ gem: [`${PACKAGE}:${VERSION}`] }, "hello-gem"],
  [{ go: [`${MODULE}@v${VERSION}`] }, PACKAGE],
  [{ cargo: [`${PACKAGE}@${VERSION}`] }, PACKAGE],
])(
  "packages %j are installed with it",
  async (packages, program) => {
    expect(await world.run(program, packages, { base: FULL })).toBe(`${SAID}\n`);
  },
  INSTALL_MS,
);
