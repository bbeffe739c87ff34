import type { Contract, Schema } from "./document.ts";

/** Where and why a value is not what the schema says, by what zod writes of JSON Schema; else undefined. */
export function problemIn(
  contract: Contract,
  given: Schema,
  value: unknown,
  at = "",
): string | undefined {
  const schema = contract.resolve(given);
  const own = problemOfValue(schema, value) ?? problemOfChoices(contract, schema, value);
  if (own !== undefined) return `${at || "the answer"}: ${own}`;
  if (Array.isArray(value)) {
    const items = schema["items"] as Schema | undefined;
    if (items === undefined) return undefined;
    return first(value, (item, index) => problemIn(contract, items, item, `${at}.${index}`));
  }
  if (typeof value !== "object" || value === null) return undefined;
  return problemInObject(contract, schema, value as Record<string, unknown>, at);
}

function problemOfValue(schema: Schema, value: unknown): string | undefined {
  const types = schema["type"] === undefined ? [] : [schema["type"]].flat();
  if (types.length > 0 && !types.some((type) => isOf(String(type), value))) {
    return `${JSON.stringify(value)?.slice(0, 80)} is not ${types.join(" or ")}`;
  }
  if ("const" in schema && schema["const"] !== value) return `is not ${schema["const"]}`;
  const values = schema["enum"] as unknown[] | undefined;
  if (values !== undefined && !values.includes(value)) return `${value} is not one of ${values}`;
  return undefined;
}

function problemOfChoices(contract: Contract, schema: Schema, value: unknown): string | undefined {
  const choices = (schema["anyOf"] ?? schema["oneOf"]) as Schema[] | undefined;
  if (choices === undefined) return undefined;
  const problems = choices.map((choice) => problemIn(contract, choice, value));
  if (problems.some((problem) => problem === undefined)) return undefined;
  return `none of: ${problems.join(" | ")}`.slice(0, 500);
}

function problemInObject(
  contract: Contract,
  schema: Schema,
  value: Readonly<Record<string, unknown>>,
  at: string,
): string | undefined {
  const properties = (schema["properties"] ?? {}) as Record<string, Schema>;
  const missing = ((schema["required"] ?? []) as string[]).find((name) => !(name in value));
  if (missing !== undefined) return `${at}.${missing}: is missing`;
  const others = schema["additionalProperties"];
  return first(Object.entries(value), ([name, each]) => {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (known !== undefined) return problemIn(contract, known, each, `${at}.${name}`);
    if (others === false) return `${at}.${name}: is not in the schema`;
    if (typeof others !== "object" || others === null) return undefined;
    return problemIn(contract, others as Schema, each, `${at}.${name}`);
  });
}

function first<T>(
  items: readonly T[],
  problemOf: (item: T, index: number) => string | undefined,
): string | undefined {
  for (const [index, item] of items.entries()) {
    const problem = problemOf(item, index);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function isOf(type: string, value: unknown): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}
