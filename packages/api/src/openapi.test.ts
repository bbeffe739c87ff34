import { expect, test } from "vitest";
import * as api from "./index.ts";

type Json = Record<string, unknown>;

const document = api.openApiDocument({
  operations: api.OPERATIONS,
  schemas: api,
  version: "1.2.3",
});
const nodes = [...nodesOf(document, "#")];
const operations = Object.entries(
  document["paths"] as Record<string, Record<string, Json>>,
).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

/** JSON Schema 2020-12, as far as zod writes it. */
const KEYWORDS = [
  "$ref type enum const properties required additionalProperties propertyNames items prefixItems",
  "minItems maxItems uniqueItems minLength maxLength pattern format minimum maximum",
  "exclusiveMinimum exclusiveMaximum multipleOf oneOf anyOf allOf not default description title",
  "contentMediaType contentEncoding minProperties maxProperties",
].flatMap((line) => line.split(" "));
const TYPES = ["string", "number", "integer", "boolean", "object", "array", "null"];

test("every reference leads somewhere", () => {
  const references = nodes.map(({ node }) => node["$ref"]).filter((ref) => ref !== undefined);
  expect(references.length).toBeGreaterThan(100);
  expect(references.filter((reference) => targetOf(String(reference)) === undefined)).toEqual([]);
});

test("every component is referred to", () => {
  const used = new Set(nodes.map(({ node }) => node["$ref"]));
  const components = document["components"] as Record<string, Json>;
  const unused = Object.keys(components["schemas"] ?? {}).filter(
    (name) => !used.has(`#/components/schemas/${name}`),
  );
  expect(unused).toEqual([]);
});

test("every operation has an id of its own, and says how it answers", () => {
  const ids = operations.map(({ operation }) => operation["operationId"]);
  expect(new Set(ids).size).toBe(api.OPERATIONS.length);
  expect(ids).not.toContain(undefined);
  for (const { operation } of operations) {
    expect(operation["responses"]).toHaveProperty("default");
    const { responses } = operation as { responses: Json };
    expect("200" in responses || "501" in responses, String(operation["operationId"])).toBe(true);
  }
});

test("exactly the parameters of the path are declared as such, and none twice", () => {
  for (const { path, operation } of operations) {
    const parameters = (operation["parameters"] as Json[]).map((each) =>
      each["$ref"] === undefined ? each : (targetOf(String(each["$ref"])) as Json),
    );
    const inPath = parameters.filter((each) => each["in"] === "path").map((each) => each["name"]);
    expect(inPath).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
    const keys = parameters.map((each) => `${each["in"]} ${each["name"]}`);
    expect(new Set(keys).size).toBe(keys.length);
    for (const each of parameters) expect(each).toHaveProperty("schema");
  }
});

test("every schema keeps to JSON Schema 2020-12", () => {
  const schemas = [...schemasOf()];
  expect(schemas.length).toBeGreaterThan(500);
  for (const { at, schema } of schemas) {
    expect(problemOf(schema), at).toBeUndefined();
  }
});

test("what no JSON can be is nowhere in it", () => {
  expect(JSON.parse(JSON.stringify(document))).toEqual(document);
});

test("a parameter of the query has the type that it is read as", () => {
  const paths = document["paths"] as { "/v1/sessions": { get: { parameters: Json[] } } };
  const { parameters } = paths["/v1/sessions"].get;
  const schemaOf = (name: string) => parameters.find((each) => each["name"] === name)?.["schema"];
  expect(schemaOf("limit")).toEqual({ type: "integer", minimum: 1, maximum: 1000 });
  expect(schemaOf("include_archived")).toEqual({ type: "boolean" });
  expect(schemaOf("statuses[]")).toMatchObject({ type: "array", maxItems: 20 });
  expect(schemaOf("created_at[gte]")).toMatchObject({ type: "string", format: "date-time" });
});

test("events are told apart by their type, each with a component of its own", () => {
  const schemas = (document["components"] as { schemas: Record<string, Json> }).schemas;
  for (const [name, count] of [
    ["ClientEvent", 7],
    ["SessionEvent", 42],
    ["StreamEvent", 44],
  ] as const) {
    const arms = (schemas[name]?.["oneOf"] ?? []) as Json[];
    const types = arms.map((arm) => {
      const { properties } = targetOf(String(arm["$ref"])) as { properties: { type: Json } };
      return properties.type["const"];
    });
    expect(new Set(types.filter((type) => typeof type === "string")).size, name).toBe(count);
    expect(arms.length, name).toBe(count);
  }
});

test("methods are told by path, whatever the ids", () => {
  expect(api.methodsAt("/v1/agents/agent_1")).toEqual(["GET", "HEAD", "POST"]);
  expect(api.methodsAt("/v1/agents/agent_1/versions/1")).toEqual([]);
  expect(api.methodsAt("/openapiXjson")).toEqual([]);
});

function problemOf(schema: Json): string | undefined {
  const unknown = Object.keys(schema).filter((key) => !KEYWORDS.includes(key));
  if (unknown.length > 0) return `unknown keywords ${unknown}`;
  const types = schema["type"] === undefined ? [] : [schema["type"]].flat();
  if (!types.every((type) => TYPES.includes(String(type)))) return `unknown type ${types}`;
  const required = (schema["required"] ?? []) as string[];
  const missing = required.filter((name) => !Object.hasOwn(schema["properties"] ?? {}, name));
  if (missing.length > 0) return `required, but no property: ${missing}`;
  if (typeof schema["pattern"] === "string") new RegExp(schema["pattern"], "u");
  return undefined;
}

/** Every place of the document where a schema stands. */
function* schemasOf(): Generator<{ at: string; schema: Json }> {
  for (const { node, at } of nodes) {
    if (/^#\/components\/schemas\/\w+$/.test(at)) yield* withChildren(node, at);
    else if (at.endsWith("/schema") && !at.startsWith("#/components/schemas")) {
      yield* withChildren(node, at);
    }
  }
}

function* withChildren(schema: Json, at: string): Generator<{ at: string; schema: Json }> {
  yield { at, schema };
  for (const key of ["properties", "$defs"]) {
    for (const [name, child] of Object.entries((schema[key] ?? {}) as Json)) {
      yield* withChildren(child as Json, `${at}/${key}/${name}`);
    }
  }
  for (const key of ["items", "additionalProperties", "propertyNames", "not"]) {
    const child = schema[key];
    if (typeof child === "object" && child !== null) {
      yield* withChildren(child as Json, `${at}/${key}`);
    }
  }
  for (const key of ["oneOf", "anyOf", "allOf", "prefixItems"]) {
    for (const [index, child] of ((schema[key] ?? []) as Json[]).entries()) {
      yield* withChildren(child, `${at}/${key}/${index}`);
    }
  }
}

function* nodesOf(value: unknown, at: string): Generator<{ at: string; node: Json }> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield { at, node: value as Json };
  for (const [key, child] of Object.entries(value)) {
    yield* nodesOf(child, `${at}/${key.replaceAll("/", "~1")}`);
  }
}

function targetOf(reference: string): unknown {
  return reference
    .split("/")
    .slice(1)
    .reduce<unknown>((node, key) => (node as Json | undefined)?.[key], document);
}
