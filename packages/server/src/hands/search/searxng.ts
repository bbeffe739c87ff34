import { z } from "zod";
import type { SearchOutcome, SearchRequest, WebSearch } from "../../core/ports/web-search.ts";
import { type ProviderOptions, searchJson, searchUrl, withSites } from "./json-request.ts";

const Answer = z.object({
  results: z.array(
    z.object({
      url: z.unknown().optional(),
      title: z.unknown().optional(),
      content: z.unknown().optional(),
      publishedDate: z.unknown().optional(),
    }),
  ),
});

/**
 * SearXNG's JSON API, which its operator has to switch on (`search.formats` in its settings). It has no
 * keys; one that is set goes as a bearer token, for whatever stands in front of it.
 */
export class SearxngSearch implements WebSearch {
  readonly #options: ProviderOptions;

  constructor(options: ProviderOptions) {
    this.#options = options;
  }

  search(
    { query, allowedDomains, limit }: SearchRequest,
    signal: AbortSignal,
  ): Promise<SearchOutcome> {
    const { url: base, key } = this.#options;
    const url = searchUrl(base);
    url.searchParams.set("q", withSites(query, allowedDomains));
    url.searchParams.set("format", "json");
    const authorization = key && { authorization: `Bearer ${key.reveal()}` };
    const search = {
      provider: "searxng",
      request: {
        method: "GET",
        url: url.href,
        headers: { accept: "application/json", ...authorization },
      },
      schema: Answer,
      limit,
      resultsOf: ({ results }: z.infer<typeof Answer>) =>
        results.map(({ url: found, title, content, publishedDate }) => ({
          url: found,
          title,
          snippet: content,
          age: publishedDate,
        })),
    } as const;
    return searchJson(search, this.#options, signal);
  }
}
