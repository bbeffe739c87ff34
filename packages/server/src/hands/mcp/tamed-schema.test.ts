import { describe, expect, test } from "vitest";
import { tamedSchema } from "./tamed-schema.ts";

const text = { type: "string" };

describe("a schema that every model's API takes", () => {
  const whole = {
    type: "object",
    title: "Input",
    properties: {
      name: { ...text, minLength: 1, pattern: "^a+$", enum: ["a"], description: "who" },
      many: { type: "array", items: { type: ["integer", "null"], minimum: 0 }, uniqueItems: true },
      one: { anyOf: [text, { type: "number", exclusiveMinimum: 0 }], default: "x" },
    },
    required: ["name"],
    additionalProperties: false,
  };

  test("is given as it is", () => {
    expect(tamedSchema(whole)).toEqual(whole);
  });

  test.each<[string, unknown, unknown]>([
    ["that is missing, as that of any object", undefined, { type: "object" }],
    [
      "without a type, with one",
      { properties: { a: text } },
      { type: "object", properties: { a: text } },
    ],
    [
      "with the version it was written for, without",
      { $schema: "http://json-schema.org/draft-07/schema#" },
      { type: "object" },
    ],
    [
      "with alternatives at its top, with all that they name and nothing that only some need",
      {
        properties: { a: text },
        required: ["a"],
        oneOf: [{ properties: { b: text }, required: ["b"] }, { required: ["c"] }],
      },
      { type: "object", properties: { a: text, b: text }, required: ["a"] },
    ],
    [
      "that is made of parts, with what each needs",
      {
        allOf: [
          { properties: { a: text }, required: ["a"] },
          { properties: { b: text }, required: ["b"] },
        ],
      },
      { type: "object", properties: { a: text, b: text }, required: ["a", "b"] },
    ],
    [
      "with references, with what they lead to",
      {
        properties: {
          a: { $ref: "#/$defs/A", description: "the a" },
          b: { $ref: "#/definitions/x~1y" },
        },
        $defs: { A: text },
        definitions: { "x/y": { type: "number" } },
      },
      {
        type: "object",
        properties: { a: { type: "string", description: "the a" }, b: { type: "number" } },
      },
    ],
    [
      "with references that lead nowhere or elsewhere, with anything",
      {
        properties: {
          a: { $ref: "#/$defs/A" },
          b: { $ref: "https://example.com/b.json" },
          c: { $ref: 7 },
        },
      },
      { type: "object", properties: { a: {}, b: {}, c: {} } },
    ],
    [
      "with keywords of other versions, without them",
      {
        properties: {
          a: { type: "int", required: true, exclusiveMinimum: true, minLength: -1, divisibleBy: 2 },
          b: { type: [], enum: [], items: [text], pattern: "(?<n>", format: 7, not: "b" },
        },
        required: "a",
      },
      { type: "object", properties: { a: {}, b: {} } },
    ],
    [
      "with names that cannot be given, without those properties",
      { properties: { "a b": text, ok: text, ["__proto__"]: text, ["x".repeat(65)]: text } },
      { type: "object", properties: { ok: text } },
    ],
  ])("is one %s", (_, given, expected) => {
    expect(tamedSchema(given)).toEqual(expected);
  });

  test("is finite where the given one goes round", () => {
    const node = {
      type: "object",
      properties: {
        next: { $ref: "#/$defs/node" },
        all: { type: "array", items: { $ref: "#/$defs/node" } },
      },
    };
    const schema = tamedSchema({
      properties: { first: { $ref: "#/$defs/node" } },
      $defs: { node },
    });
    expect(JSON.stringify(schema).length).toBeLessThan(100_000);
    expect(schema).toMatchObject({
      properties: { first: { properties: { next: { properties: { next: { type: "object" } } } } } },
    });
    const wide = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [`p${index}`, { $ref: "#" }]),
    );
    expect(typeof tamedSchema({ properties: wide })).toBe("object");
  });
});

test.each<[unknown, RegExp]>([
  [[], /is none/],
  ["object", /is none/],
  [{ type: "array" }, /no object/],
  [{ properties: { "a b": text }, required: ["a b"] }, /needs a property/],
  [{ title: "t".repeat(200_000) }, /over 100000 characters/],
])("%j is no schema of a tool's input", (given, reason) => {
  expect(tamedSchema(given)).toEqual(expect.stringMatching(reason));
});
