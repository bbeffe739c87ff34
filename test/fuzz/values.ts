import fc from "fast-check";
import type { Contract, Schema } from "./document.ts";

/** Values of schemas, right ones and wrong ones. */

const DEPTH_MAX = 6;

export interface ValueOptions {
  readonly contract: Contract;
  /** Ids of a kind, such as `file_id`; of all kinds where none is known by the name. */
  readonly ids: (name: string) => fc.Arbitrary<string>;
  /** Text to know a workspace's data by. */
  readonly marker: string;
  /** Of the property that the value is for. */
  readonly name?: string;
}

/** Values that parsers, databases and file systems have stumbled over. */
export const NASTY: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1.5,
    1e308,
    Number.MAX_SAFE_INTEGER + 1,
    "",
    " ",
    "\0",
    "a\0b",
    "\ud800",
    "\u202e\u2028",
    "../../etc/passwd",
    "'; drop table sessions; --",
    "__proto__",
    "constructor",
    "2026-13-45T99:99:99Z",
    [],
    {},
    [null],
    { type: "text" },
    { type: "__proto__" },
    { toString: 1, constructor: null },
  ),
  { arbitrary: fc.string({ unit: "binary", maxLength: 40 }), weight: 2 },
  fc.constantFrom("x", "é", "\u{1F600}").map((unit) => unit.repeat(70_000)),
  fc.constant("x".repeat(300_000)),
  fc.integer({ min: 60, max: 3_000 }).map(nested),
  fc.constantFrom(null, "x", {}).map((item) => Array.from({ length: 3_000 }, () => item)),
);

/** The value with one thing in it changed, taken away or put in. */
export function changed(value: unknown): fc.Arbitrary<unknown> {
  if (typeof value !== "object" || value === null) return NASTY;
  const keys = Object.keys(value);
  if (keys.length === 0) return NASTY;
  return fc.constantFrom(...keys).chain((key) => {
    const inner = (value as Record<string, unknown>)[key];
    return fc.oneof(
      { arbitrary: changed(inner).map((other) => put(value, key, other)), weight: 4 },
      { arbitrary: NASTY.map((other) => put(value, key, other)), weight: 2 },
      fc.constant(without(value, key)),
      NASTY_NAMES.chain((name) => NASTY.map((other) => put(value, name, other))),
      NASTY,
    );
  });
}

const NASTY_NAMES = fc.constantFrom("__proto__", "constructor", "x", "id", "type", "", "a\0", "é");

/** A value that the schema takes, as far as it says so; strings hold the marker now and then. */
export function valueFor(options: ValueOptions, given: Schema, depth = 0): fc.Arbitrary<unknown> {
  const schema = options.contract.resolve(given);
  if ("const" in schema) return fc.constant(schema["const"]);
  if (Array.isArray(schema["enum"])) return fc.constantFrom(...(schema["enum"] as unknown[]));
  const choices = (schema["anyOf"] ?? schema["oneOf"]) as Schema[] | undefined;
  if (choices !== undefined) {
    return fc.constantFrom(...choices).chain((choice) => valueFor(options, choice, depth + 1));
  }
  const types = [schema["type"] ?? "object"].flat() as string[];
  return fc.constantFrom(...types).chain((type) => ofType(options, schema, type, depth));
}

function ofType(
  options: ValueOptions,
  schema: Schema,
  type: string,
  depth: number,
): fc.Arbitrary<unknown> {
  switch (type) {
    case "null":
      return fc.constant(null);
    case "boolean":
      return fc.boolean();
    case "integer":
    case "number":
      return fc.integer({
        min: bound(schema["minimum"], 0),
        max: Math.min(bound(schema["maximum"], 1_000), bound(schema["minimum"], 0) + 10_000),
      });
    case "string":
      return stringOf(options, schema);
    case "array":
      return arrayOf(options, schema, depth);
    default:
      return objectOf(options, schema, depth);
  }
}

function stringOf({ ids, marker, name = "" }: ValueOptions, schema: Schema): fc.Arbitrary<string> {
  if (schema["format"] === "date-time") {
    const min = new Date("2020-01-01");
    return fc
      .date({ min, max: new Date("2030-01-01"), noInvalidDate: true })
      .map((date) => date.toISOString());
  }
  if (schema["pattern"] === "^[!-~]{1,128}$") return ids(kindOf(name));
  const max = Math.min(bound(schema["maxLength"], 60), 200);
  const samples = [
    fc.constantFrom(marker, `/${marker}`, "https://localhost/x", "example.com", "offline/echo"),
    fc.string({ maxLength: max }),
    fc.string({ unit: "grapheme", maxLength: max }),
    ids(kindOf(name)),
    fc.nat().map((number) => `/${marker}/${number}`),
    fc.constantFrom("0", "12", "main", "a".repeat(max)),
  ];
  return fc.oneof(...samples);
}

function arrayOf(options: ValueOptions, schema: Schema, depth: number): fc.Arbitrary<unknown[]> {
  if (depth > DEPTH_MAX) return fc.constant([]);
  const item = valueFor(options, (schema["items"] ?? {}) as Schema, depth + 1);
  const minLength = bound(schema["minItems"], 0);
  return fc.array(item, { minLength, maxLength: Math.max(minLength, 2) });
}

function objectOf(options: ValueOptions, schema: Schema, depth: number): fc.Arbitrary<object> {
  const properties = Object.entries((schema["properties"] ?? {}) as Record<string, Schema>);
  const required = (schema["required"] ?? []) as string[];
  const others = schema["additionalProperties"];
  if (properties.length === 0 && typeof others === "object" && others !== null) {
    const value = valueFor(options, others as Schema, depth + 1);
    return fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), value, { maxKeys: 2 });
  }
  const isIn = ([name]: [string, Schema]) => depth <= DEPTH_MAX || required.includes(name);
  const fields = properties.filter(isIn).map(([name, each]) => {
    // An `id` is of what the object around it is.
    const inner = name === "id" || name === "type" ? options : { ...options, name };
    return [name, valueFor(inner, each, depth + 1)] as const;
  });
  const always = required.filter((name) => properties.some(([each]) => each === name));
  return fc.record(Object.fromEntries(fields), { requiredKeys: always as never[] });
}

/** What ids a property takes, by its name: `agent`, `vault_ids`, `environment_id`. */
function kindOf(name: string): string {
  const single = name.replace(/s$/, "");
  return single.endsWith("_id") ? single : `${single}_id`;
}

function bound(value: unknown, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}

function nested(depth: number): unknown {
  let value: unknown = null;
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

function put(value: object, key: string, by: unknown): unknown {
  if (Array.isArray(value)) return value.map((item, index) => (String(index) === key ? by : item));
  return Object.fromEntries([...Object.entries(value), [key, by]]);
}

function without(value: object, key: string): unknown {
  if (Array.isArray(value)) return value.filter((_, index) => String(index) !== key);
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));
}
