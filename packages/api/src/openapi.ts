import { z } from "zod";
import { ErrorBody } from "./errors.ts";
import type { Answer, FileBody, Form, Operation } from "./operation.ts";

type Json = Record<string, unknown>;

export interface OpenApiOptions {
  readonly operations: readonly Operation[];
  /** By the name that each gets as a component; what is no schema is left out. */
  readonly schemas: Readonly<Record<string, unknown>>;
  readonly version: string;
}

/** The contract as an OpenAPI 3.1 document, made of the schemas that requests are read with. */
export function openApiDocument({ operations, schemas, version }: OpenApiOptions): Json {
  const named = new Map<z.ZodType, string>();
  for (const [name, schema] of Object.entries(schemas)) {
    // A schema that stands under two names keeps the first.
    if (schema instanceof z.ZodType && !named.has(schema)) named.set(schema, name);
  }
  const writer = new SchemaWriter(named);
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    paths[operation.path] ??= {};
    Object.assign(paths[operation.path] ?? {}, {
      [operation.method.toLowerCase()]: describe(operation, writer),
    });
  }
  return {
    openapi: "3.1.0",
    jsonSchemaDialect: "https://json-schema.org/draft/2020-12/schema",
    info: { title: "Drover", version, license: { name: "Apache-2.0", identifier: "Apache-2.0" } },
    security: [{ bearer: [] }, { apiKey: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer" },
        apiKey: { type: "apiKey", in: "header", name: "x-api-key" },
      },
      parameters: HEADERS,
      responses: { Error: errorResponse(writer) },
      schemas: writer.components(),
    },
  };
}

const HEADERS: Record<string, Json> = {
  AnthropicVersion: header("anthropic-version", { enum: ["2023-06-01", "2026-10-21"] }),
  AnthropicBeta: header("anthropic-beta", {}),
  AnthropicWorkspaceId: header("anthropic-workspace-id", {}),
  IdempotencyKey: header("idempotency-key", { maxLength: 255 }),
};

function header(name: string, schema: Json): Json {
  return { name, in: "header", required: false, schema: { type: "string", ...schema } };
}

function describe(operation: Operation, writer: SchemaWriter): Json {
  const { id, method, path, body, answer, unbuilt } = operation;
  const [tag = id] = id.split(".");
  return {
    operationId: id,
    tags: [tag],
    ...(operation.isPublic === true ? { security: [] } : {}),
    ...(unbuilt === undefined ? {} : { description: `Not implemented yet: ${unbuilt}.` }),
    parameters: [
      ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => pathParameter(name ?? "")),
      ...queryParameters(operation, writer),
      ...(operation.isPublic === true ? [] : headersOf(method)),
    ],
    ...(body === undefined ? {} : { requestBody: requestBody(body, writer) }),
    responses: {
      ...(answer === undefined ? {} : { "200": response(answer, writer) }),
      ...(unbuilt === undefined ? {} : { "501": { $ref: "#/components/responses/Error" } }),
      default: { $ref: "#/components/responses/Error" },
    },
  };
}

function pathParameter(name: string): Json {
  return { name, in: "path", required: true, schema: { type: "string", minLength: 1 } };
}

function headersOf(method: Operation["method"]): Json[] {
  return Object.keys(HEADERS)
    .filter((name) => name !== "IdempotencyKey" || method !== "GET")
    .map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

/** Arrays are written `name[]=a&name[]=b`, as the official client does; `name=a&name=b` does as well. */
function queryParameters({ query }: Operation, writer: SchemaWriter): Json[] {
  return Object.entries(query?.shape ?? {}).map(([name, value]) => {
    const schema = writer.write(value as z.ZodType, "output");
    const isArray = schema["type"] === "array";
    return {
      name: isArray ? `${name}[]` : name,
      in: "query",
      required: false,
      schema,
      ...(isArray ? { style: "form", explode: true } : {}),
    };
  });
}

function requestBody(body: z.ZodType | Form | FileBody, writer: SchemaWriter): Json {
  if (body instanceof z.ZodType) {
    return { required: true, content: { "application/json": { schema: writer.write(body) } } };
  }
  if (body.kind === "file") {
    return { required: true, content: { [body.mediaType]: { schema: { type: "string" } } } };
  }
  const content = { type: "string", contentMediaType: "application/octet-stream" };
  const part = body.part === "file" ? content : { type: "array", minItems: 1, items: content };
  const { properties = {}, ...fields } = writer.write(body.fields);
  const schema = {
    ...fields,
    properties: { [body.part]: part, ...(properties as Json) },
    required: [body.part],
  };
  return { required: true, content: { "multipart/form-data": { schema } } };
}

function response(answer: Answer, writer: SchemaWriter): Json {
  const headers = {
    "request-id": { schema: { type: "string" } },
    "anthropic-workspace-id": { schema: { type: "string" } },
  };
  const [mediaType, schema] = contentOf(answer, writer);
  return { description: "Success.", headers, content: { [mediaType]: { schema } } };
}

function contentOf(answer: Answer, writer: SchemaWriter): [mediaType: string, schema: Json] {
  switch (answer.kind) {
    case "object":
      return ["application/json", writer.write(answer.of)];
    case "list":
      return ["application/json", listOf(writer.write(answer.of), EDGES[answer.paged])];
    case "batch":
      return ["application/json", listOf(writer.write(answer.of), {})];
    case "stream":
      return ["text/event-stream", writer.write(answer.of)];
    case "bytes":
      return ["application/octet-stream", {}];
  }
}

const CURSOR = { type: ["string", "null"] };
const EDGES: Record<"cursor" | "bidirectional" | "ids", Json> = {
  cursor: { next_page: CURSOR },
  bidirectional: { next_page: CURSOR, prev_page: CURSOR },
  ids: { has_more: { type: "boolean" }, first_id: CURSOR, last_id: CURSOR },
};

function listOf(items: Json, edges: Json): Json {
  const properties = { data: { type: "array", items }, ...edges };
  return { type: "object", properties, required: Object.keys(properties) };
}

function errorResponse(writer: SchemaWriter): Json {
  return {
    description: "Whatever is not a success.",
    headers: {
      "request-id": { schema: { type: "string" } },
      "x-should-retry": { schema: { type: "string", enum: ["true", "false"] } },
      "retry-after": { schema: { type: "string" } },
    },
    content: { "application/json": { schema: writer.write(ErrorBody) } },
  };
}

/** Writes schemas as JSON Schema; the named ones as references to components. */
class SchemaWriter {
  readonly #named: ReadonlyMap<z.ZodType, string>;
  readonly #components: Readonly<Record<string, Json>>;
  readonly #used = new Set<string>();

  constructor(named: ReadonlyMap<z.ZodType, string>) {
    this.#named = named;
    const registry = z.registry<{ id: string }>();
    for (const [schema, id] of named) registry.add(schema, { id });
    const { schemas } = z.toJSONSchema(registry, {
      io: "input",
      uri: (id) => `#/components/schemas/${id}`,
      unrepresentable: "any",
    });
    this.#components = Object.fromEntries(
      Object.entries(schemas).map(([id, schema]) => [id, withoutAddress(schema as Json)]),
    );
  }

  write(schema: z.ZodType, io: "input" | "output" = "input"): Json {
    const name = this.#named.get(schema);
    if (name !== undefined) return this.#reference(name);
    return withoutAddress(z.toJSONSchema(schema, { io, unrepresentable: "any" }) as Json);
  }

  /** Those that the document refers to, directly or through others. */
  components(): Record<string, Json> {
    const found = new Set<string>();
    for (const name of this.#used) this.#collect(name, found);
    return Object.fromEntries(
      [...found].sort().map((name) => [name, this.#components[name] ?? {}]),
    );
  }

  #reference(name: string): Json {
    this.#used.add(name);
    return { $ref: `#/components/schemas/${name}` };
  }

  #collect(name: string, found: Set<string>): void {
    if (found.has(name)) return;
    found.add(name);
    const text = JSON.stringify(this.#components[name] ?? {});
    for (const [, other = ""] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      this.#collect(other, found);
    }
  }
}

function withoutAddress({ $schema: _schema, $id: _id, ...schema }: Json): Json {
  return schema;
}
