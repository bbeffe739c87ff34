import { expect, test } from "vitest";
import { TemplateRenderer, type TemplateValues } from "./offline-template.ts";

const VALUES: TemplateValues = {
  results: ["first\nsecond\nthird\n", "name,12.50,-3", '{"a":[{"b":"deep"},2]}'],
  named: new Map([
    ["table", "north 41\nsouth 40\n"],
    ["empty", ""],
  ]),
  user: "please",
};

test.each([
  ["no template", "no template"],
  ["{{user}}, {{ user }}", "please, please"],
  ["{{result.1 | line 2}}", "second"],
  ["{{result.1 | line -1}}", "third"],
  ["{{result.1 | lines 2 3}}", "second\nthird"],
  ["{{result.1 | lines 2}}", "second\nthird"],
  ["{{result.1 | trim | line 1}}", "first"],
  ['{{result.2 | column 1 ","}}', "name"],
  ["{{table | line 1 | column 2}}", "41"],
  ["{{result.2 | number}} {{result.2 | number 2}} {{result.2 | number -1}}", "12.50 -3 -3"],
  ['{{result.2 | match "^(\\w+),([\\d.]+)"}}', "name"],
  ['{{result.2 | match "^(\\w+),([\\d.]+)" 2}}', "12.50"],
  ['{{table | match "^south .*$"}}', "south 40"],
  ['{{result | json "a.0.b"}}', "deep"],
  ['{{result | json "a"}}', '[{"b":"deep"},2]'],
  ['{{result.9 | line 1 | default "none"}}', "none"],
  ['{{empty | number | default "0"}}', "0"],
  ['{{table | number | default "0"}}', "41"],
  ['{{"{{"}} and {{"}}"}}', "{{ and }}"],
  ["}} stays, { and } too", "}} stays, { and } too"],
])("%j gives %j", (text, expected) => {
  expect(new TemplateRenderer(VALUES).text(text)).toBe(expected);
});

test.each([
  ["{{result.9}}", /there are 3 results so far/],
  ["{{nobody}}", /no call before it is named nobody/],
  ["{{table | line 7}}", /it has 2 lines/],
  ["{{empty | number}}", /it has 0 numbers/],
  ["{{table | sort}}", /there is no filter sort; there are trim, line/],
  ['{{table | match "("}}', /Invalid regular expression/],
  ['{{table | match "west"}}', /nothing matches "west"/],
  ['{{table | json "a"}}', /not JSON/],
  ["{{}}", /cannot be read/],
  ["{{table |}}", /cannot be read/],
  ["{{table line 1}}", /cannot be read/],
  ["print(f'{{x}}')", /no call before it is named x/],
  ["{{table", /\{\{ without \}\}/],
])("%j says why it has no value", (text, expected) => {
  expect(() => new TemplateRenderer(VALUES).text(text)).toThrow(expected);
});

test("fills in the strings of a value, and leaves its keys and all else alone", () => {
  const value = { "{{user}}": ["{{user}}", 1, null, { deep: "a {{user}}" }], not: true };
  expect(new TemplateRenderer(VALUES).value(value)).toEqual({
    "{{user}}": ["please", 1, null, { deep: "a please" }],
    not: true,
  });
});

test("a pattern that would take for ever is given up", () => {
  const values = { ...VALUES, named: new Map([["a", `${"a".repeat(40)}!`]]) };
  expect(() => new TemplateRenderer(values).text('{{a | match "^(a+)+$"}}')).toThrow(/timed out/);
});

test("a text that grows without end is refused", () => {
  const values = { ...VALUES, named: new Map([["a", "a".repeat(10_000)]]) };
  expect(() => new TemplateRenderer(values).text("{{a}}".repeat(200))).toThrow(/longer than/);
  expect(() => new TemplateRenderer(VALUES).text("{{empty}}".repeat(1_001))).toThrow(/more than/);
});
