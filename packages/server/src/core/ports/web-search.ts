import type { UserLocation } from "@drover/api";

/** A search of the web, of the agent's wish and its settings. */
export interface SearchRequest {
  readonly query: string;
  /** At most this many results are wanted. */
  readonly limit: number;
  /** Only results of these, or none of those: for the provider to use where it can. */
  readonly allowedDomains?: readonly string[];
  readonly blockedDomains?: readonly string[];
  readonly location?: UserLocation;
}

export interface SearchResult {
  /** Absolute, http or https. */
  readonly url: string;
  readonly title: string;
  /** Without markup; empty if the provider gave none. */
  readonly snippet: string;
  /** When it was published or changed, in the provider's words. */
  readonly age?: string;
}

export type SearchOutcome =
  | { readonly type: "results"; readonly results: readonly SearchResult[] }
  /** The provider asks for patience. */
  | { readonly type: "limited"; readonly message: string }
  /** It could not be asked, or gave no usable answer. A sentence; no secret is in it. */
  | { readonly type: "failed"; readonly message: string };

/**
 * Somebody who searches the web. What every implementation promises:
 * - It never rejects, asks once, follows no redirect, and ends within `SEARCH_MS`.
 * - It bounds what it reads; results without a usable URL are left out, and no more than `limit` given.
 * - The key goes to the configured address alone, and is in no outcome.
 * - Domains that it cannot pass on are the caller's to filter: the lists are hints here.
 */
export interface WebSearch {
  search(request: SearchRequest, signal: AbortSignal): Promise<SearchOutcome>;
}

/** Milliseconds that a search may take. */
export const SEARCH_MS = 20_000;
