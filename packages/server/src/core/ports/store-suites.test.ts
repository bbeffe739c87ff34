import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

test("every contract suite of a store is on the list that both engines run", () => {
  const read = (name: string) => readFileSync(join(import.meta.dirname, name), "utf8");
  const list = read("store-suites.testsuite.ts");
  const suites = readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith(".testsuite.ts"))
    .flatMap((name) => [
      ...read(name).matchAll(/^export function (test\w+)\(open: OpenStore\): void/gm),
    ])
    .map(([, name = ""]) => name)
    .filter((name) => name !== "testStorePorts");
  expect(suites).toContain("testEventLog");
  expect(suites.filter((name) => !list.includes(`  ${name},\n`))).toEqual([]);
});
