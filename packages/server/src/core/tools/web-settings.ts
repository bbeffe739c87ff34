import { type UrlSources, type UserLocation, WebFetchConfig, WebSearchConfig } from "@drover/api";
import { z } from "zod";

/** At most one of the lists is there. A domain stands for its subdomains as well. */
interface DomainLists {
  readonly allowed_domains?: readonly string[];
  readonly blocked_domains?: readonly string[];
}

export interface WebFetchSettings extends DomainLists {
  readonly type: "web_fetch";
  /** Of text; null for the hands' own limit. */
  readonly max_content_tokens: number | null;
}

export interface WebSearchSettings extends DomainLists {
  readonly type: "web_search";
  readonly user_location: UserLocation | null;
}

export type WebSettings = WebFetchSettings | WebSearchSettings;

/** The same with what is decided before a call is sent. */
export interface WebTool {
  readonly settings: WebSettings;
  /** Where the URLs may come from that are fetched; null for anywhere. */
  readonly urlSources: UrlSources | null;
}

const Named = z.object({ name: z.string() });

/**
 * What `configs`, an agent's own of its tools, say of the tool `name`; undefined if it is no web tool,
 * or if what they say is not understood: then the hands refuse its calls.
 */
export function webTool(name: string, configs: readonly unknown[]): WebTool | undefined {
  const config = configs.find((each) => Named.safeParse(each).data?.name === name);
  switch (name) {
    case "web_fetch":
      return fetching(config);
    case "web_search":
      return searching(config);
    default:
      return undefined;
  }
}

function fetching(config: unknown): WebTool | undefined {
  if (config === undefined) {
    return { settings: { type: "web_fetch", max_content_tokens: null }, urlSources: null };
  }
  const { data } = WebFetchConfig.safeParse(config);
  if (data === undefined) return undefined;
  const max_content_tokens = data.max_content_tokens ?? null;
  return {
    settings: { type: "web_fetch", max_content_tokens, ...lists(data) },
    urlSources: data.url_sources,
  };
}

function searching(config: unknown): WebTool | undefined {
  if (config === undefined) {
    return { settings: { type: "web_search", user_location: null }, urlSources: null };
  }
  const { data } = WebSearchConfig.safeParse(config);
  if (data === undefined) return undefined;
  const user_location = data.user_location ?? null;
  return { settings: { type: "web_search", user_location, ...lists(data) }, urlSources: null };
}

function lists({ allowed_domains, blocked_domains }: DomainLists): DomainLists {
  return {
    ...(allowed_domains !== undefined && { allowed_domains }),
    ...(blocked_domains !== undefined && { blocked_domains }),
  };
}
