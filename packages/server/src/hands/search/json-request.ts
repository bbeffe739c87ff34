import type { z } from "zod";
import type { Egress, EgressRequest } from "../../core/ports/egress.ts";
import { SEARCH_MS, type SearchOutcome, type SearchResult } from "../../core/ports/web-search.ts";
import { canonicalUrl } from "../../core/tools/web-urls.ts";
import { scrubber } from "../../lib/scrub.ts";
import type { Secret } from "../../lib/secret.ts";

const ANSWER_BYTES_MAX = 2 * 1024 * 1024;
const MESSAGE_CHARS_MAX = 200;

export interface ProviderOptions {
  readonly egress: Egress;
  readonly url: string;
  readonly key?: Secret;
}

/** One result as a provider gave it, before anything of it is believed. */
export interface RawResult {
  readonly url: unknown;
  readonly title: unknown;
  readonly snippet: unknown;
  readonly age: unknown;
}

export interface JsonSearch<T> {
  readonly provider: string;
  readonly request: Pick<EgressRequest, "method" | "url" | "headers" | "body">;
  readonly schema: z.ZodType<T>;
  readonly resultsOf: (answer: T) => readonly RawResult[];
  readonly limit: number;
}

/** Where a provider whose address may have a path of its own is searched. */
export function searchUrl(base: string): URL {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/search`;
  return url;
}

/** Asks a provider that answers in JSON. See `WebSearch` for what is promised. */
export async function searchJson<T>(
  { provider, request, schema, resultsOf, limit }: JsonSearch<T>,
  { egress, key }: ProviderOptions,
  signal: AbortSignal,
): Promise<SearchOutcome> {
  const secrets = key === undefined ? [] : [key.reveal()];
  const scrub = scrubber(secrets, { lengthMax: MESSAGE_CHARS_MAX });
  const bounds = { timeoutMs: SEARCH_MS, bytesMax: ANSWER_BYTES_MAX, signal } as const;
  const outcome = await egress.send({ ...request, ...bounds, isPackedAllowed: true });
  if (outcome.type !== "response") {
    return failed(`the search provider ${provider} cannot be reached: ${scrub(outcome.message)}`);
  }
  const refusal = refusalOf(provider, outcome.status);
  if (refusal !== undefined) return refusal;
  if (outcome.isTruncated) return failed(`the answer of ${provider} was too large or broke off`);
  const { data } = schema.safeParse(parsed(Buffer.from(outcome.body).toString("utf8")));
  if (data === undefined) return failed(`${provider} gave no results in the form that it should`);
  const results = resultsOf(data).flatMap((raw) => cleaned(raw, secrets) ?? []);
  return { type: "results", results: results.slice(0, limit) };
}

function refusalOf(provider: string, status: number): SearchOutcome | undefined {
  if (status === 200) return undefined;
  if (status === 401 || status === 403) {
    return failed(
      `the search provider ${provider} refused this server (status ${status}); its operator can check DROVER_SEARCH_API_KEY and DROVER_SEARCH_URL`,
    );
  }
  if (status === 429 || status === 432 || status === 433) {
    return { type: "limited", message: `the search provider ${provider} allows no more requests` };
  }
  return failed(`the search provider ${provider} answered with status ${status}`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function cleaned(raw: RawResult, secrets: readonly string[]): SearchResult | undefined {
  const url = typeof raw.url === "string" ? canonicalUrl(raw.url) : undefined;
  if (url === undefined || secrets.some((secret) => url.includes(secret))) return undefined;
  const plain = (value: unknown) => {
    const text = typeof value === "string" ? withoutMarkup(value) : "";
    return secrets.reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), text);
  };
  const age = plain(raw.age);
  return {
    url,
    title: plain(raw.title),
    snippet: plain(raw.snippet),
    ...(age !== "" && { age }),
  };
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
  "&#x27;": "'",
  "&nbsp;": " ",
  "&amp;": "&",
};

/** Providers mark what was searched for, and escape the rest. */
function withoutMarkup(text: string): string {
  return text
    .slice(0, 20_000)
    .replaceAll(/<\/?(?:b|strong|em|i|mark|span|br)\b[^<>]{0,200}>/gi, "")
    .replaceAll(/&(?:lt|gt|quot|#39|#x27|nbsp|amp);/g, (entity) => ENTITIES[entity] ?? entity);
}

function failed(message: string): SearchOutcome {
  return { type: "failed", message };
}

/** Domains that a query names; more of them and a provider takes none of it. */
const SITES_MAX = 8;

/**
 * The query with the domains that are wanted, in the words that most engines take. Without this a
 * narrow list would leave nothing of what an engine finds by itself.
 */
export function withSites(query: string, allowedDomains: readonly string[] | undefined): string {
  if (allowedDomains === undefined || allowedDomains.length > SITES_MAX) return query;
  const sites = allowedDomains.map((domain) => `site:${domain}`);
  return sites.length === 1 ? `${query} ${sites[0]}` : `${query} (${sites.join(" OR ")})`;
}
