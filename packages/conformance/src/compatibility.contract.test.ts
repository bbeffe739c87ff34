import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { compatibilityPage } from "./compatibility.ts";
import { EVENT_TYPES } from "./event-types.ts";
import { SCENARIOS } from "./scenarios.ts";

const DOCS = join(import.meta.dirname, "../../../docs");

test("docs/compatibility.md says what the suite knows", async () => {
  const decisions = readdirSync(join(DOCS, "decisions"))
    .sort()
    .map((file) => {
      const text = readFileSync(join(DOCS, "decisions", file), "utf8");
      return { file, title: /^# (.*)$/m.exec(text)?.[1] ?? file };
    });
  await expect(compatibilityPage(decisions)).toMatchFileSnapshot(join(DOCS, "compatibility.md"));
});

test("what shows that a type of event works is there", () => {
  const shown = SCENARIOS.flatMap(({ rows = [], verifies }) => [...rows, ...verifies]);
  expect(Object.values(EVENT_TYPES).filter((by) => !shown.includes(by))).toEqual([]);
});
