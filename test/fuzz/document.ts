/** The parts of an OpenAPI document that the fuzz looks at. */

export type Schema = Readonly<Record<string, unknown>>;

export interface Endpoint {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly queries: readonly { readonly name: string; readonly schema: Schema }[];
  readonly body?: { readonly mediaType: string; readonly schema: Schema };
  /** Of a success, where it is JSON. */
  readonly answer?: Schema;
  readonly isUnbuilt: boolean;
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface Described {
  readonly operationId: string;
  readonly parameters: readonly { name?: string; in?: string; schema?: Schema }[];
  readonly requestBody?: { content: Record<string, { schema: Schema }> };
  readonly responses: Readonly<Record<string, { content?: Record<string, { schema: Schema }> }>>;
}

export class Contract {
  readonly endpoints: readonly Endpoint[];
  readonly #schemas: Readonly<Record<string, Schema>>;

  constructor({ paths, components }: Document) {
    this.#schemas = components.schemas;
    this.endpoints = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, described]) => endpointOf(method, path, described)),
    );
  }

  static async of(url: string): Promise<Contract> {
    const response = await fetch(`${url}/openapi.json`);
    return new Contract((await response.json()) as Document);
  }

  /** The schema itself, where it is a reference. */
  resolve(schema: Schema): Schema {
    const reference = schema["$ref"];
    if (typeof reference !== "string") return schema;
    const found = this.#schemas[reference.split("/").at(-1) ?? ""];
    if (found === undefined) throw new Error(`there is no ${reference}`);
    return this.resolve(found);
  }
}

function endpointOf(method: string, path: string, described: Described): Endpoint {
  const { operationId: id, parameters, requestBody, responses } = described;
  const [mediaType, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const answer = responses["200"]?.content?.["application/json"]?.schema;
  return {
    id,
    method: method.toUpperCase(),
    path,
    queries: parameters
      .filter((each) => each.in === "query")
      .map(({ name = "", schema = {} }) => ({ name, schema })),
    ...(mediaType === undefined || content === undefined
      ? {}
      : { body: { mediaType, schema: content.schema } }),
    ...(answer === undefined ? {} : { answer }),
    isUnbuilt: "501" in responses,
  };
}
