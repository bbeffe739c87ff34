import { expect, test } from "vitest";
import { CHECKLIST } from "./checklist.ts";
import { REQUIREMENTS } from "./requirements.ts";
import { SCENARIOS } from "./scenarios.ts";
import { SECTIONS, sectionOf } from "./sections.ts";

const ids = REQUIREMENTS.map(({ id }) => id);
const cited = new Set(SCENARIOS.flatMap(({ verifies }) => verifies));
const citedRows = new Set(SCENARIOS.flatMap(({ rows = [] }) => rows));

test("every requirement has a scenario", () => {
  expect(ids.filter((id) => !cited.has(id))).toEqual([]);
});

test("every scenario cites requirements that there are, and at least one", () => {
  expect([...cited].filter((id) => !ids.includes(id))).toEqual([]);
  expect(SCENARIOS.filter(({ verifies }) => verifies.length === 0)).toEqual([]);
});

test("every id and every scenario's name is used once", () => {
  expect(repeated(ids)).toEqual([]);
  expect(repeated(SCENARIOS.map(({ name }) => name))).toEqual([]);
});

test("every requirement is in a section of the contract", () => {
  expect(REQUIREMENTS.filter(({ section }) => SECTIONS[sectionOf(section)] === undefined)).toEqual(
    [],
  );
});

test("scenarios cite rows of the checklist only", () => {
  const rows = CHECKLIST.map(({ row }) => row);
  expect([...citedRows].filter((row) => !rows.includes(row))).toEqual([]);
});

function repeated(names: readonly string[]): string[] {
  return names.filter((name, index) => names.indexOf(name) !== index);
}

test("every numbered item of section 20 has a requirement", () => {
  const sections = REQUIREMENTS.map(({ section }) => section);
  const items = Array.from({ length: 34 }, (_, index) => `20.${index + 1}`);
  expect(items.filter((item) => !sections.includes(item))).toEqual([]);
});
