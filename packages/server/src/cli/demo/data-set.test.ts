import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readDataSet } from "./data-set.ts";

const FOLDER = join(import.meta.dirname, "../../../demo/data");

test("the data set is the one that its licence page describes", () => {
  const bytes = readFileSync(join(FOLDER, "weather.csv"));
  const page = readFileSync(join(FOLDER, "LICENSE.md"), "utf8");
  expect(page).toContain(createHash("sha256").update(bytes).digest("hex"));
  expect(readDataSet(0).text).toBe(bytes.toString("utf8"));
});

test("rows are dropped from its end, and never all", () => {
  const all = readDataSet(0);
  const fewer = readDataSet(10);
  expect(fewer.rows).toBe(all.rows - 10);
  expect(all.text.startsWith(fewer.text)).toBe(true);
  for (const count of [-1, 0.5, all.rows, Number.NaN]) {
    expect(() => readDataSet(count)).toThrow("--drop-rows must be a whole number");
  }
});
