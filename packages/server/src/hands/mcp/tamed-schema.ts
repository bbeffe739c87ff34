import { isRecord } from "../../lib/is-record.ts";

type Schema = Readonly<Record<string, unknown>>;
/** An object's schema, as tools have one for their input. */
export type InputSchema = Schema & { readonly type: "object" };

/** Characters of the schema as JSON. */
export const SCHEMA_LENGTH_MAX = 100_000;
/** Schemas within each other; deeper ones let everything through. */
const DEPTH_MAX = 24;
/** References that are written out in one schema: each may hold many others. */
const REFERENCES_MAX = 256;

const PROPERTY_NAME = /^[a-zA-Z0-9_.-]{1,64}$/;
const TYPES = new Set(["array", "boolean", "integer", "null", "number", "object", "string"]);
const SCHEMA_KEYS = new Set(["additionalProperties", "contains", "else", "if", "items", "not"]);
const SCHEMA_LIST_KEYS = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const SCHEMA_MAP_KEYS = new Set(["dependentSchemas", "patternProperties", "properties"]);
const MORE_SCHEMA_KEYS = new Set(["propertyNames", "then", "unevaluatedItems"]);
const COUNT_KEYS = /^(?:min|max)(?:Contains|Items|Length|Properties)$/;

/**
 * A schema that every model's API takes, as close to the given one as can be: an object's, without references and
 * alternatives at its top, with plain names of properties, and with nothing that JSON Schema (2020-12) does not have.
 * Instead of it a phrase why there is none: the tool …
 */
export function tamedSchema(given: unknown): InputSchema | string {
  if (given === undefined || given === null) return { type: "object" };
  if (!isRecord(given)) return "has an input schema that is none";
  const root = new SchemaTamer(given).tame(given, 0);
  if (root === true) return { type: "object" };
  if (root["type"] !== undefined && root["type"] !== "object") {
    return "has an input that is no object";
  }
  const schema = withPlainNames(withoutAlternatives(root));
  if (typeof schema === "string") return schema;
  return JSON.stringify(schema).length > SCHEMA_LENGTH_MAX
    ? `has an input schema of over ${SCHEMA_LENGTH_MAX} characters`
    : schema;
}

class SchemaTamer {
  readonly #root: Schema;
  #references = 0;

  constructor(root: Schema) {
    this.#root = root;
  }

  tame(given: unknown, depth: number): Schema | true {
    if (!isRecord(given) || depth > DEPTH_MAX) return true;
    const target = this.#referred(given);
    if (target === undefined) return this.#keywords(given, depth);
    const { $ref: _, ...own } = given;
    // What stands beside a reference says more of it, such as a description.
    const merged = { ...target, ...own };
    return this.#keywords(merged, depth + 1);
  }

  /** Undefined if there is no reference; everything is let through by one that leads nowhere or round and round. */
  #referred(given: Schema): Schema | undefined {
    const { $ref } = given;
    if ($ref === undefined) return undefined;
    this.#references += 1;
    if (typeof $ref !== "string" || this.#references > REFERENCES_MAX) return {};
    const target = pointed(this.#root, $ref);
    // A chain of references is as good as none.
    return isRecord(target) && target["$ref"] === undefined ? target : {};
  }

  #keywords(given: Schema, depth: number): Schema {
    const kept = Object.entries(given).flatMap(([key, value]) => {
      const tamed = this.#keyword(key, value, depth);
      return tamed === undefined ? [] : [[key, tamed] as const];
    });
    return Object.fromEntries(kept);
  }

  /** Undefined for what is left out. */
  #keyword(key: string, value: unknown, depth: number): unknown {
    if (SCHEMA_KEYS.has(key) || MORE_SCHEMA_KEYS.has(key)) {
      if (typeof value === "boolean") return value;
      return isRecord(value) ? this.tame(value, depth + 1) : undefined;
    }
    if (SCHEMA_LIST_KEYS.has(key)) {
      if (!Array.isArray(value) || value.length === 0) return undefined;
      return value.map((one) => (one === false ? false : this.tame(one, depth + 1)));
    }
    if (SCHEMA_MAP_KEYS.has(key)) {
      if (!isRecord(value)) return undefined;
      const entries = Object.entries(value).filter(([name]) => name !== "__proto__");
      return Object.fromEntries(
        entries.map(([name, one]) => [name, one === false ? false : this.tame(one, depth + 1)]),
      );
    }
    return plainKeyword(key, value);
  }
}

/** A check for each keyword that holds no schemas; what fails it is left out. */
const PLAIN: Readonly<Record<string, (value: unknown) => unknown>> = {
  type: typesOf,
  required: textsOf,
  enum: (value) => (Array.isArray(value) && value.length > 0 ? value : undefined),
  examples: (value) => (Array.isArray(value) ? value : undefined),
  pattern: (value) => (isPattern(value) ? value : undefined),
  multipleOf: (value) => (typeof value === "number" && value > 0 ? value : undefined),
  const: (value) => value,
  default: (value) => value,
  ...ofKind("number", ["exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"]),
  ...ofKind("string", ["$comment", "contentEncoding", "description", "format", "title"]),
  ...ofKind("boolean", ["deprecated", "readOnly", "uniqueItems", "writeOnly"]),
};

function ofKind(kind: string, keys: readonly string[]) {
  const check = (value: unknown) => (typeof value === kind ? value : undefined);
  return Object.fromEntries(keys.map((key) => [key, check]));
}

function plainKeyword(key: string, value: unknown): unknown {
  if (COUNT_KEYS.test(key)) {
    return Number.isSafeInteger(value) && Number(value) >= 0 ? value : undefined;
  }
  return Object.hasOwn(PLAIN, key) ? PLAIN[key]?.(value) : undefined;
}

function typesOf(value: unknown): unknown {
  if (typeof value === "string") return TYPES.has(value) ? value : undefined;
  if (!Array.isArray(value)) return undefined;
  const known = [...new Set(value)].filter((one) => TYPES.has(one));
  return known.length === 0 ? undefined : known;
}

function textsOf(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return [...new Set(value)].filter((one): one is string => typeof one === "string");
}

/** The patterns of other languages are not ours. */
function isPattern(value: unknown): boolean {
  if (typeof value !== "string") return false;
  try {
    new RegExp(value, "u");
    return true;
  } catch {
    return false;
  }
}

function pointed(root: Schema, reference: string): unknown {
  if (!reference.startsWith("#")) return undefined;
  const parts = reference.slice(1).split("/").slice(1);
  return parts.reduce<unknown>((at, part) => {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    return typeof at === "object" && at !== null && Object.hasOwn(at, name)
      ? Reflect.get(at, name)
      : undefined;
  }, root);
}

/**
 * APIs take no alternatives at the top. What holds for all of them is required, and what is known of any is named.
 */
function withoutAlternatives(schema: Schema): Schema {
  const { allOf, anyOf, oneOf, if: _if, then: _then, else: _else, not: _not, ...own } = schema;
  const all = recordsIn(allOf);
  const some = [...recordsIn(anyOf), ...recordsIn(oneOf)];
  if (all.length + some.length === 0) return own;
  const parts = [...some, ...all, own].map(({ properties }) => properties);
  const properties = Object.assign({}, ...parts.filter(isRecord));
  const required = [own, ...all].flatMap((one) => textsOf(one["required"]) ?? []);
  return { ...own, properties, ...(required.length > 0 && { required: [...new Set(required)] }) };
}

function recordsIn(value: unknown): readonly Schema[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** A property that cannot be named is left out, unless the tool needs it. */
function withPlainNames(schema: Schema): InputSchema | string {
  const { properties, required, ...rest } = schema;
  const needed = textsOf(required) ?? [];
  const bad = needed.find((name) => !PROPERTY_NAME.test(name));
  if (bad !== undefined) return "needs a property with a name that models cannot be given";
  const entries = Object.entries(isRecord(properties) ? properties : {});
  const named = Object.fromEntries(entries.filter(([name]) => PROPERTY_NAME.test(name)));
  return {
    ...rest,
    type: "object",
    ...(properties !== undefined && { properties: named }),
    ...(needed.length > 0 && { required: needed }),
  };
}
