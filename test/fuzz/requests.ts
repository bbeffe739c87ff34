import fc from "fast-check";
import type { Contract, Endpoint, Schema } from "./document.ts";
import { changed, NASTY, type ValueOptions, valueFor } from "./values.ts";

export interface FuzzRequest {
  readonly endpoint: Endpoint;
  /** Whose key it is sent with. */
  readonly who: Who;
  readonly method: string;
  readonly path: string;
  /** In their order; a name may come twice. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array | undefined;
}

export const CALLERS = [
  "admin",
  "developer",
  "reader",
  "other admin",
  "other developer",
  "nobody",
] as const;
export type Who = (typeof CALLERS)[number];

export interface RequestOptions {
  readonly contract: Contract;
  /** Ids of the caller's workspace and of the other, by the name of their parameter. */
  readonly ids: (who: Who, parameter: string) => readonly string[];
  /** Ids of one workspace that belong together. */
  readonly families: (who: Who) => readonly ReadonlyMap<string, string>[];
  readonly marker: (who: Who) => string;
}

/** What makes things go away is asked for less often, so that there is something to ask for. */
const ENDINGS = /\.(?:delete|archive|redact|revoke)$/;

const CALLER = fc.oneof(
  ...(
    [
      ["admin", 6],
      ["developer", 6],
      ["reader", 2],
      ["other admin", 3],
      ["other developer", 3],
      ["nobody", 1],
    ] as const
  ).map(([who, weight]) => ({ arbitrary: fc.constant<Who>(who), weight })),
);

/** Requests for all endpoints of the contract, from right to hopeless. */
export function requests(options: RequestOptions): fc.Arbitrary<FuzzRequest> {
  const endpoint = fc.oneof(
    ...options.contract.endpoints.map((each) => ({
      arbitrary: fc.constant(each),
      weight: each.isUnbuilt || ENDINGS.test(each.id) ? 1 : 5,
    })),
  );
  return fc.tuple(endpoint, CALLER).chain(([each, who]) => requestOf(options, each, who));
}

function requestOf(
  options: RequestOptions,
  endpoint: Endpoint,
  who: Who,
): fc.Arbitrary<FuzzRequest> {
  const values: ValueOptions = {
    contract: options.contract,
    ids: (name) => {
      const own = fc.nat().map((at) => pick(options.ids(who, name), at));
      const any = fc.nat().map((at) => pick(options.ids(who, ""), at) ?? "agent_nobody");
      return fc
        .tuple(own, any, fc.nat({ max: 9 }))
        .map(([right, other, dice]) => (right === undefined || dice === 0 ? other : right));
    },
    marker: options.marker(who),
  };
  return fc
    .record({
      method: fc.oneof(
        { arbitrary: fc.constant(endpoint.method), weight: 30 },
        fc.constantFrom("GET", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "POST"),
      ),
      path: pathOf(options, endpoint, who),
      query: queryOf(values, endpoint),
      headers: HEADERS,
      content: contentOf(values, endpoint),
    })
    .map(({ method, path, query, headers, content }) => ({
      endpoint,
      who,
      method,
      path: `${path}${query}`,
      headers: [...content.headers, ...headers],
      body: content.body,
    }));
}

const TRICKS = [
  "..",
  "%2e%2e",
  "..%2f..%2fetc",
  "%00",
  "x%00",
  "%ff",
  "%",
  "%20",
  "%F0%9F%92%A3",
  "a".repeat(3_000),
  "__proto__",
  "poll",
  "latest",
  "",
  "*",
  "a;b=c",
  "a%2Fb",
];

function pathOf(
  { ids, families }: RequestOptions,
  endpoint: Endpoint,
  who: Who,
): fc.Arbitrary<string> {
  const names = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  const parts = names.map((name) =>
    fc.oneof(
      { arbitrary: fc.nat().map((at) => pick(ids(who, name), at) ?? "nobody"), weight: 12 },
      { arbitrary: fc.constant(`${name.replace(/_id$/, "")}_nobody`), weight: 1 },
      { arbitrary: fc.constantFrom(...TRICKS), weight: 1 },
    ),
  );
  const mixed = fc.tuple(...parts).map((values) => {
    let at = 0;
    return endpoint.path.replaceAll(/\{\w+\}/g, () => values[at++] ?? "");
  });
  const related = fc.nat().map((at) => {
    const family = pick(families(who), at);
    return endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name) =>
      encodeURIComponent(family?.get(name) ?? pick(ids(who, name), at) ?? "nobody"),
    );
  });
  return fc.oneof({ arbitrary: related, weight: 3 }, { arbitrary: mixed, weight: 1 });
}

const ODD_QUERIES = [
  "limit=-1",
  "limit=99999999999999999999",
  "limit=",
  "limit=1&limit=2",
  "limit[]=1",
  "page=%00",
  "page=eyJhIjoxfQ",
  "page=%ff",
  "order=sideways",
  "types[]=x&types=y",
  "created_at[gte]=%ff",
  "created_at[gte]=2026-02-30T00:00:00Z",
  "created_at[lte]=9999-12-31T23:59:59.999Z",
  "created_at[gt]=0001-01-01T00:00:00%2b23:59",
  "after=%00",
  "statuses[]=",
  "ids[]=a&ids[]=b&limit=3",
  "%00=1",
  "__proto__=1",
  "constructor[prototype]=1",
  "&&&==",
  "beta=true",
  "%E0%A4%A",
];

function queryOf(values: ValueOptions, { queries }: Endpoint): fc.Arbitrary<string> {
  const known = queries.map(({ name, schema }) =>
    fc
      .option(queryValue(values, schema), { freq: 3 })
      .map((value) =>
        value === null ? [] : [value].flat().map((each) => `${name}=${encodeURIComponent(each)}`),
      ),
  );
  const odd = fc.oneof(
    { arbitrary: fc.constant<string[]>([]), weight: 6 },
    fc.constantFrom(...ODD_QUERIES).map((query) => [query]),
    fc.string({ unit: "binary", maxLength: 8 }).map((name) => [`${encodeSafely(name)}=1`]),
  );
  return fc.tuple(fc.tuple(...known), odd).map(([parts, more]) => {
    const text = [...parts.flat(), ...more].join("&");
    return text === "" ? "" : `?${text}`;
  });
}

function queryValue(values: ValueOptions, schema: Schema): fc.Arbitrary<string | string[]> {
  const right = valueFor(values, schema).map((value) =>
    Array.isArray(value) ? value.map((each) => safe(String(each))) : safe(String(value)),
  );
  const wrong = fc.constantFrom("", "x", "-1", "1e9", "true", "a".repeat(2_000), "é");
  return fc.oneof({ arbitrary: right, weight: 6 }, { arbitrary: wrong, weight: 1 });
}

const HEADERS: fc.Arbitrary<readonly [string, string][]> = fc.oneof(
  { arbitrary: fc.constant<[string, string][]>([]), weight: 12 },
  fc.constantFrom<[string, string][]>(
    [["x-stainless-retry-count", "-1"]],
    [["x-stainless-retry-count", "1"]],
    [["x-stainless-retry-count", "99999"]],
    [["idempotency-key", "k".repeat(5_000)]],
    [["idempotency-key", "the same"]],
    [["idempotency-key", ""]],
    [["anthropic-version", "1999-01-01"]],
    [
      ["anthropic-version", "2023-06-01"],
      ["anthropic-version", "2026-10-21"],
    ],
    [["anthropic-beta", ","]],
    [["anthropic-beta", "x,".repeat(1_000)]],
    [["anthropic-workspace-id", "wrkspc_nobody"]],
    [["anthropic-workspace-id", ""]],
    [["x-api-key", "another"]],
    [["authorization", "Basic eA=="]],
    [["authorization", ""]],
    [["content-encoding", "gzip"]],
    [["content-type", "text/plain; charset=utf-16"]],
    [["content-type", "multipart/form-data"]],
    [["content-type", "multipart/form-data; boundary="]],
    [["content-type", "multipart/form-data; boundary=x"]],
    [["content-type", "application/json; charset=latin1"]],
    [["accept", "text/html"]],
    [["host", "[::1"]],
    [["host", ""]],
    [["cookie", "x".repeat(10_000)]],
    [["range", "bytes=0-1,5-"]],
    [["expect", "200-maybe"]],
    [["x-http-method-override", "DELETE"]],
    [["traceparent", "garbage"]],
  ),
  fc
    .string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)) })
    .map((value): [string, string][] => [["x-odd", value]]),
);

interface Content {
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array | undefined;
}

const NO_CONTENT: Content = { headers: [], body: undefined };

function contentOf(values: ValueOptions, endpoint: Endpoint): fc.Arbitrary<Content> {
  const { body, method } = endpoint;
  if (body === undefined) {
    if (method === "GET") return fc.constant(NO_CONTENT);
    const odd = fc.constantFrom("{}", "", "[]", '{"a":1}', "null", "x").map(json);
    return fc.oneof({ arbitrary: fc.constant(NO_CONTENT), weight: 8 }, odd);
  }
  if (body.mediaType !== "application/json") return formOf(values, body.schema);
  const right = valueFor(values, body.schema);
  return fc.oneof(
    { arbitrary: right.map((value) => json(JSON.stringify(value))), weight: 5 },
    {
      arbitrary: right.chain(changed).map((value) => json(JSON.stringify(value) ?? "")),
      weight: 5,
    },
    { arbitrary: damaged(right), weight: 1 },
    { arbitrary: NASTY.map((value) => json(JSON.stringify(value) ?? "")), weight: 1 },
  );
}

function damaged(right: fc.Arbitrary<unknown>): fc.Arbitrary<Content> {
  return fc
    .tuple(right, fc.double({ min: 0, max: 1, noNaN: true }), fc.nat({ max: 5 }))
    .map(([value, share, way]) => {
      const text = JSON.stringify(value) ?? "";
      const at = Math.floor(share * text.length);
      const [head, tail] = [text.slice(0, at), text.slice(at)];
      const ways = [
        head,
        `${head}\0${tail}`,
        `${head}\\ud800${tail}`,
        `${text}${text}`,
        `\ufeff${text}`,
      ];
      const other = ways[way];
      if (other !== undefined) return json(other);
      return { ...json(""), body: Buffer.concat([Buffer.from(head), Buffer.from([0xc3, 0x28])]) };
    });
}

function formOf(values: ValueOptions, schema: Schema): fc.Arbitrary<Content> {
  const names = Object.keys((schema["properties"] ?? {}) as object);
  const filename = fc.constantFrom(
    "notes.txt",
    "a/SKILL.md",
    "../up.txt",
    "/etc/passwd",
    "C:\\x",
    "x.zip",
    "",
    "a".repeat(300),
    "\u202e.txt",
    "s/../../SKILL.md",
  );
  const slug = fc.constantFrom("a", "b-c", values.marker.toLowerCase());
  const content = fc.oneof(
    slug.map((name) => `---\nname: ${name}\ndescription: ${values.marker}\n---\n${values.marker}`),
    fc.constantFrom("", "PK\x03\x04", "\x1f\x8b\x08", values.marker, "x".repeat(100_000)),
    fc.string({ unit: "binary" }),
  );
  const part = fc.record({
    name: fc.constantFrom(...names, "file", "files[]", "other", ""),
    filename: fc.option(filename, { freq: 5 }),
    content,
  });
  const ending = fc.constantFrom("--x--\r\n", "--x--\r\n", "--x--\r\n", "", "--x");
  return fc.tuple(fc.array(part, { maxLength: 4 }), ending).map(([parts, end]) => {
    const text = parts.map((each) => {
      const file = each.filename === null ? "" : `; filename="${each.filename}"`;
      return `--x\r\ncontent-disposition: form-data; name="${each.name}"${file}\r\n\r\n${each.content}\r\n`;
    });
    return {
      headers: [["content-type", "multipart/form-data; boundary=x"]],
      body: Buffer.from(`${text.join("")}${end}`),
    };
  });
}

function json(text: string): Content {
  return { headers: [["content-type", "application/json"]], body: Buffer.from(text) };
}

function pick<T>(items: readonly T[], at: number): T | undefined {
  return items[at % Math.max(items.length, 1)];
}

function safe(text: string): string {
  return text.toWellFormed();
}

function encodeSafely(text: string): string {
  return encodeURIComponent(safe(text));
}
