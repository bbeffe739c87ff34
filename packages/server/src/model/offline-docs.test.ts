import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseScript } from "./offline-script.ts";

const DOCS = new URL("../../../../docs/offline-models.md", import.meta.url);

test("every script in the documentation can be followed", () => {
  const text = readFileSync(DOCS, "utf8");
  const scripts = [...text.matchAll(/^```drover-script\n([\s\S]*?)^```$/gm)].map(
    ([, it]) => it ?? "",
  );
  expect(scripts.map((script) => parseScript(script).length)).toEqual([2, 2, 3]);
});
