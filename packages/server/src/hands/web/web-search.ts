import type { ResultBlock } from "@drover/api";
import { z } from "zod";
import { tamed } from "../../core/harness/tame.ts";
import type { SearchResult, WebSearch } from "../../core/ports/web-search.ts";
import type { WebSearchSettings } from "../../core/tools/web-settings.ts";
import { permits } from "./domain-list.ts";
import { WebError } from "./web-error.ts";

const RESULTS_MAX = 10;
const QUERY_CHARS_MAX = 1_000;
const TITLE_CHARS_MAX = 300;
const SNIPPET_CHARS_MAX = 1_000;
const AGE_CHARS_MAX = 60;

const NOT_CONFIGURED =
  "this server has no search provider. Its operator can set DROVER_SEARCH_PROVIDER to searxng, brave or tavily, with DROVER_SEARCH_URL or DROVER_SEARCH_API_KEY";

const Input = z.object({ query: z.string().trim().min(1).max(QUERY_CHARS_MAX) });

/** Carries out one call of `web_search`. Throws `WebError` for what the model is to know. */
export async function webSearch(
  input: unknown,
  settings: WebSearchSettings,
  provider: WebSearch | undefined,
  signal: AbortSignal,
): Promise<readonly ResultBlock[]> {
  const { data } = Input.safeParse(input);
  if (data === undefined) {
    const message = `query: a text of 1 to ${QUERY_CHARS_MAX} characters is required`;
    throw new WebError("invalid_input", message);
  }
  if (provider === undefined) throw new WebError("unavailable", NOT_CONFIGURED);
  const { allowed_domains, blocked_domains, user_location } = settings;
  const outcome = await provider.search(
    {
      query: data.query,
      // More than are shown, for some may not be permitted.
      limit: RESULTS_MAX * 2,
      ...(allowed_domains !== undefined && { allowedDomains: allowed_domains }),
      ...(blocked_domains !== undefined && { blockedDomains: blocked_domains }),
      ...(user_location !== null && { location: user_location }),
    },
    signal,
  );
  switch (outcome.type) {
    case "limited":
      throw new WebError("too_many_requests", outcome.message);
    case "failed":
      throw new WebError("unavailable", outcome.message);
    case "results":
      return [{ type: "text", text: told(permitted(outcome.results, settings)) }];
  }
}

/** What is not permitted is left out without a word. */
function permitted(
  results: readonly SearchResult[],
  settings: WebSearchSettings,
): readonly SearchResult[] {
  return results.filter(({ url }) => permits(settings, new URL(url))).slice(0, RESULTS_MAX);
}

/**
 * The query is not repeated: what stands in a result may be fetched where `url_sources` say so, and the
 * query is the model's own.
 */
function told(results: readonly SearchResult[]): string {
  if (results.length === 0) return "No results.";
  return results.map((result, index) => `${index + 1}. ${tamed(entry(result))}`).join("\n\n");
}

function entry({ url, title, snippet, age }: SearchResult): string {
  const lines = [line(title, TITLE_CHARS_MAX) || url, `URL: ${url}`];
  if (age !== undefined) lines.push(`Age: ${line(age, AGE_CHARS_MAX)}`);
  const text = line(snippet, SNIPPET_CHARS_MAX);
  return (text === "" ? lines : [...lines, text]).join("\n");
}

function line(text: string, charsMax: number): string {
  const flat = text.replaceAll(/\s+/g, " ").trim();
  return flat.length > charsMax ? `${flat.slice(0, charsMax)}…` : flat;
}
