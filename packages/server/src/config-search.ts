import type { z } from "zod";
import type { Settings } from "./config-settings.ts";
import { Secret } from "./lib/secret.ts";

/** Who searches the web. */
export interface ConfiguredSearch {
  readonly provider: "searxng" | "brave" | "tavily";
  /** Base URL of its API. */
  readonly url: string;
  readonly key?: Secret;
}

const URLS = {
  brave: "https://api.search.brave.com/res/v1/web/search",
  tavily: "https://api.tavily.com",
};

type Given = z.output<typeof Settings>;

/** A sentence on settings of the search that make no sense together. */
export function problemInSearch(settings: Given): string | undefined {
  const { DROVER_SEARCH_PROVIDER: provider } = settings;
  const { DROVER_SEARCH_URL: url, DROVER_SEARCH_API_KEY: key } = settings;
  if (provider === undefined) {
    const isAnySet = url !== undefined || key !== undefined;
    return isAnySet
      ? "DROVER_SEARCH_PROVIDER is missing: it says whose DROVER_SEARCH_URL and DROVER_SEARCH_API_KEY are."
      : undefined;
  }
  if (provider === "searxng") {
    return url === undefined
      ? "DROVER_SEARCH_URL is needed for the search provider searxng."
      : undefined;
  }
  return key === undefined
    ? `DROVER_SEARCH_API_KEY is needed for the search provider ${provider}.`
    : undefined;
}

export function configuredSearch(settings: Given): { readonly search?: ConfiguredSearch } {
  const { DROVER_SEARCH_PROVIDER: provider, DROVER_SEARCH_API_KEY: key } = settings;
  const url =
    settings.DROVER_SEARCH_URL ?? (provider === "searxng" ? undefined : URLS[provider ?? "brave"]);
  if (provider === undefined || url === undefined) return {};
  return { search: Object.freeze({ provider, url, ...(key && { key: new Secret(key) }) }) };
}
