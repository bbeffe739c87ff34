import type { UserLocation } from "@drover/api";
import { z } from "zod";
import type { SearchOutcome, SearchRequest, WebSearch } from "../../core/ports/web-search.ts";
import { type ProviderOptions, searchJson, withSites } from "./json-request.ts";

/** As Brave limits them. */
const COUNT_MAX = 20;
const QUERY_CHARS_MAX = 400;

const Answer = z.object({
  web: z
    .object({
      results: z.array(
        z.object({
          url: z.unknown().optional(),
          title: z.unknown().optional(),
          description: z.unknown().optional(),
          age: z.unknown().optional(),
        }),
      ),
    })
    .nullish(),
});

/** Brave's web search API. */
export class BraveSearch implements WebSearch {
  readonly #options: ProviderOptions;

  constructor(options: ProviderOptions) {
    this.#options = options;
  }

  search(
    { query, allowedDomains, limit, location }: SearchRequest,
    signal: AbortSignal,
  ): Promise<SearchOutcome> {
    const { url: base, key } = this.#options;
    const url = new URL(base);
    const narrowed = withSites(query, allowedDomains);
    const q = narrowed.length <= QUERY_CHARS_MAX ? narrowed : query.slice(0, QUERY_CHARS_MAX);
    url.searchParams.set("q", q);
    url.searchParams.set("count", String(Math.min(limit, COUNT_MAX)));
    const headers = {
      accept: "application/json",
      ...(key && { "x-subscription-token": key.reveal() }),
      ...placeHeaders(location),
    };
    const search = {
      provider: "brave",
      request: { method: "GET", url: url.href, headers },
      schema: Answer,
      limit,
      resultsOf: ({ web }: z.infer<typeof Answer>) =>
        (web?.results ?? []).map(({ url: found, title, description, age }) => ({
          url: found,
          title,
          snippet: description,
          age,
        })),
    } as const;
    return searchJson(search, this.#options, signal);
  }
}

function placeHeaders(location: UserLocation | undefined): Record<string, string> {
  const { city, region, country, timezone } = location ?? {};
  const given = {
    "x-loc-city": city,
    "x-loc-state-name": region,
    "x-loc-country": country,
    "x-loc-timezone": timezone,
  };
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) =>
      value === undefined || value === null ? [] : [[name, headerText(value)]],
    ),
  );
}

/** Headers are Latin-1 and of one line; a place in other letters is written without its accents. */
function headerText(value: string): string {
  return value
    .normalize("NFD")
    .replaceAll(/[^\x20-\x7e]/g, "")
    .trim();
}
