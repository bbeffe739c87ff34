import type { Egress } from "../../core/ports/egress.ts";
import type { WebSearch } from "../../core/ports/web-search.ts";
import type { Secret } from "../../lib/secret.ts";
import { BraveSearch } from "./brave.ts";
import { SearxngSearch } from "./searxng.ts";
import { TavilySearch } from "./tavily.ts";

export interface ConfiguredSearch {
  readonly provider: "searxng" | "brave" | "tavily";
  /** Base URL of its API. */
  readonly url: string;
  readonly key?: Secret;
}

/** The provider that the operator chose. `egress` is to be one that may dial its address. */
export function openWebSearch({ provider, ...rest }: ConfiguredSearch, egress: Egress): WebSearch {
  const options = { egress, ...rest };
  switch (provider) {
    case "searxng":
      return new SearxngSearch(options);
    case "brave":
      return new BraveSearch(options);
    case "tavily":
      return new TavilySearch(options);
  }
}
