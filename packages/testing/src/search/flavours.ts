import type { IncomingHttpHeaders } from "node:http";

/** A request that arrived. */
export interface SearchSeen {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** What a provider found, in no provider's words. */
export interface FoundPage {
  readonly url: string;
  readonly title?: string;
  readonly snippet?: string;
  readonly age?: string;
}

export type SearchFlavour = "searxng" | "brave" | "tavily";

interface Flavour {
  /** What the real service would refuse about the request; empty for nothing. */
  readonly problems: (seen: SearchSeen, key: string) => readonly string[];
  /** The key as it was sent. */
  readonly keyOf: (seen: SearchSeen) => string | undefined;
  readonly queryOf: (seen: SearchSeen) => string;
  readonly answer: (found: readonly FoundPage[]) => unknown;
}

const BRAVE_PARAMS = new Set(["q", "count"]);
const TAVILY_FIELDS = new Set([
  "query",
  "max_results",
  "search_depth",
  "include_domains",
  "exclude_domains",
  "country",
]);

export const SEARCH_FLAVOURS: Readonly<Record<SearchFlavour, Flavour>> = {
  searxng: {
    problems: ({ method, url }) => [
      ...unless(method === "GET", "searxng is asked by GET"),
      ...unless(url.pathname === "/search", "the path is /search"),
      ...unless(url.searchParams.get("format") === "json", "format must be json"),
      ...unless(Boolean(url.searchParams.get("q")), "q is required"),
      ...strangers(url.searchParams.keys(), new Set(["q", "format"])),
    ],
    keyOf: bearerOf,
    queryOf: ({ url }) => url.searchParams.get("q") ?? "",
    answer: (found) => ({
      query: "",
      number_of_results: found.length,
      results: found.map(({ url, title, snippet, age }) => ({
        url,
        title,
        content: snippet,
        publishedDate: age ?? null,
        engine: "double",
        score: 1,
      })),
      answers: [],
      unresponsive_engines: [],
    }),
  },
  brave: {
    problems: ({ method, url, headers }) => [
      ...unless(method === "GET", "brave is asked by GET"),
      ...unless(url.pathname === "/res/v1/web/search", "the path is /res/v1/web/search"),
      ...unless(isLong(url.searchParams.get("q"), 400), "q has 1 to 400 characters"),
      ...unless(/^(?:[1-9]|1\d|20)$/.test(url.searchParams.get("count") ?? ""), "count is 1 to 20"),
      ...unless(headers.accept === "application/json", "accept must be application/json"),
      ...strangers(url.searchParams.keys(), BRAVE_PARAMS),
    ],
    keyOf: ({ headers }) => {
      const key = headers["x-subscription-token"];
      return typeof key === "string" ? key : undefined;
    },
    queryOf: ({ url }) => url.searchParams.get("q") ?? "",
    answer: (found) => ({
      type: "search",
      web: {
        type: "search",
        results: found.map(({ url, title, snippet, age }) => ({
          title,
          url,
          description: snippet,
          ...(age !== undefined && { age }),
        })),
      },
    }),
  },
  tavily: {
    problems: ({ method, url, headers, body }) => [
      ...unless(method === "POST", "tavily is asked by POST"),
      ...unless(url.pathname === "/search", "the path is /search"),
      ...unless(headers["content-type"] === "application/json", "the body is JSON"),
      ...strangers(Object.keys(fieldsOf(body)), TAVILY_FIELDS),
      ...unless(isLong(fieldsOf(body)["query"], 10_000), "query is required"),
      ...unless(Number(fieldsOf(body)["max_results"]) <= 20, "max_results is at most 20"),
    ],
    keyOf: bearerOf,
    queryOf: ({ body }) => String(fieldsOf(body)["query"]),
    answer: (found) => ({
      query: "",
      results: found.map(({ url, title, snippet, age }) => ({
        url,
        title,
        content: snippet,
        score: 0.9,
        ...(age !== undefined && { published_date: age }),
      })),
      response_time: 0.1,
    }),
  },
};

function bearerOf({ headers }: SearchSeen): string | undefined {
  return /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1];
}

function fieldsOf(body: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === "object" && parsed !== null ? { ...parsed } : {};
  } catch {
    return {};
  }
}

function isLong(text: unknown, max: number): boolean {
  return typeof text === "string" && text.length >= 1 && text.length <= max;
}

function unless(isRight: boolean, problem: string): readonly string[] {
  return isRight ? [] : [problem];
}

function strangers(names: Iterable<string>, known: ReadonlySet<string>): readonly string[] {
  return [...names].filter((name) => !known.has(name)).map((name) => `${name} is not known`);
}
