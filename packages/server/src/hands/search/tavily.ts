import type { UserLocation } from "@drover/api";
import { z } from "zod";
import type { SearchOutcome, SearchRequest, WebSearch } from "../../core/ports/web-search.ts";
import { type ProviderOptions, searchJson, searchUrl } from "./json-request.ts";

/** As Tavily limits it. */
const RESULTS_MAX = 20;

const Answer = z.object({
  results: z.array(
    z.object({
      url: z.unknown().optional(),
      title: z.unknown().optional(),
      content: z.unknown().optional(),
      published_date: z.unknown().optional(),
    }),
  ),
});

/** Tavily's search API, which takes the lists of domains itself. */
export class TavilySearch implements WebSearch {
  readonly #options: ProviderOptions;

  constructor(options: ProviderOptions) {
    this.#options = options;
  }

  search(
    { query, allowedDomains, blockedDomains, limit, location }: SearchRequest,
    signal: AbortSignal,
  ): Promise<SearchOutcome> {
    const { url: base, key } = this.#options;
    const url = searchUrl(base);
    const country = countryName(location);
    const body = {
      query,
      max_results: Math.min(limit, RESULTS_MAX),
      search_depth: "basic",
      ...(allowedDomains && { include_domains: allowedDomains }),
      // With a path only the hands' own filter knows what is blocked.
      ...(blockedDomains && { exclude_domains: blockedDomains.filter((d) => !d.includes("/")) }),
      ...(country !== undefined && { country }),
    };
    const search = {
      provider: "tavily",
      request: {
        method: "POST",
        url: url.href,
        headers: {
          accept: "application/json",
          "content-type": "application/json",
          ...(key && { authorization: `Bearer ${key.reveal()}` }),
        },
        body: JSON.stringify(body),
      },
      schema: Answer,
      limit,
      resultsOf: ({ results }: z.infer<typeof Answer>) =>
        results.map(({ url: found, title, content, published_date }) => ({
          url: found,
          title,
          snippet: content,
          age: published_date,
        })),
    } as const;
    return searchJson(search, this.#options, signal);
  }
}

/** Tavily takes countries by their English names, in small letters. */
function countryName(location: UserLocation | undefined): string | undefined {
  const { country } = location ?? {};
  if (country === undefined || country === null) return undefined;
  return new Intl.DisplayNames(["en"], { type: "region", fallback: "none" })
    .of(country)
    ?.toLowerCase();
}
