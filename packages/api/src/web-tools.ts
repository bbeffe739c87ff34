import { z } from "zod";
import { toolSettings, toolSettingsParams } from "./permission-policies.ts";
import { nonEmptyText, text } from "./text.ts";

/** Settings of `web_fetch` and `web_search` (wire §3.1). */

const domainsMax = 64;
const references = { min: 1, max: 128 };
const hostname = String.raw`(?=.{1,253}(?:$|/))[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*`;

const FetchDomain = z
  .string()
  .max(253)
  .regex(new RegExp(`^${hostname}$`), "must be a plain hostname without scheme, port or path");
const SearchDomain = text(1024).regex(
  new RegExp(String.raw`^${hostname}(?:/[^\s?#]*)?$`),
  "must be a hostname, optionally with a path, without scheme or port",
);

function domains(domain: z.ZodString) {
  return z.array(domain).min(1, "must not be empty: omit it instead").max(domainsMax);
}

function hasOneList(config: { allowed_domains?: unknown; blocked_domains?: unknown }): boolean {
  return config.allowed_domains === undefined || config.blocked_domains === undefined;
}
const oneList = "allowed_domains and blocked_domains cannot be combined";

const ToolReference = z.strictObject({
  type: z.literal("tool_reference"),
  name: nonEmptyText(128),
});
const ToolReferences = z
  .array(ToolReference)
  .min(references.min)
  .max(references.max)
  .refine(
    (tools) => new Set(tools.map((tool) => tool.name)).size === tools.length,
    "names must be distinct",
  );

const All = z.strictObject({ type: z.literal("all") });
const None = z.strictObject({ type: z.literal("none") });

export const UrlSourceFilter = z.discriminatedUnion("type", [
  All,
  None,
  z.strictObject({ type: z.literal("only"), tools: ToolReferences }),
  z.strictObject({ type: z.literal("except"), tools: ToolReferences }),
]);
export const UrlSourceUserInput = z.discriminatedUnion("type", [All, None]);
const Shorthand = z.enum(["all", "none"]);

export const UrlSourcesParams = z.strictObject({
  client_tool_results: z.union([Shorthand, UrlSourceFilter]).nullish(),
  server_tool_results: z.union([Shorthand, UrlSourceFilter]).nullish(),
  user_input: z.union([Shorthand, UrlSourceUserInput]).nullish(),
});
/** Shorthands come back as objects; null is what was not set, and allows all. */
export const UrlSources = z.object({
  client_tool_results: UrlSourceFilter.nullable(),
  server_tool_results: UrlSourceFilter.nullable(),
  user_input: UrlSourceUserInput.nullable(),
});

export const UserLocation = z.strictObject({
  type: z.literal("approximate"),
  city: text(255).nullish(),
  country: z
    .string()
    .regex(/^[A-Z]{2}$/, "must be an ISO 3166-1 alpha-2 code in upper case")
    .nullish(),
  region: text(255).nullish(),
  timezone: text(64).refine(isTimezone, "must be an IANA time zone").nullish(),
});

/** Zones have names; offsets such as `+01:00` are none, though the platform takes them. */
function isTimezone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }) !== undefined;
  } catch {
    // A RangeError is how the platform says that it knows no such zone.
    return false;
  }
}

export const WebFetchConfigParams = z
  .strictObject({
    name: z.literal("web_fetch"),
    type: z.literal("web_fetch").optional(),
    ...toolSettingsParams,
    allowed_domains: domains(FetchDomain).optional(),
    blocked_domains: domains(FetchDomain).optional(),
    max_content_tokens: z.number().int().min(1).max(10_000_000).nullish(),
    url_sources: UrlSourcesParams.nullish(),
  })
  .refine(hasOneList, oneList);

export const WebSearchConfigParams = z
  .strictObject({
    name: z.literal("web_search"),
    type: z.literal("web_search").optional(),
    ...toolSettingsParams,
    allowed_domains: domains(SearchDomain).optional(),
    blocked_domains: domains(SearchDomain).optional(),
    user_location: UserLocation.nullish(),
  })
  .refine(hasOneList, oneList);

export const WebFetchConfig = z.object({
  name: z.literal("web_fetch"),
  type: z.literal("web_fetch"),
  ...toolSettings,
  allowed_domains: z.array(z.string()).exactOptional(),
  blocked_domains: z.array(z.string()).exactOptional(),
  max_content_tokens: z.number().nullable().exactOptional(),
  url_sources: UrlSources.nullable(),
});

export const WebSearchConfig = z.object({
  name: z.literal("web_search"),
  type: z.literal("web_search"),
  ...toolSettings,
  allowed_domains: z.array(z.string()).exactOptional(),
  blocked_domains: z.array(z.string()).exactOptional(),
  user_location: z
    .object({
      type: z.literal("approximate"),
      city: z.string().nullable().exactOptional(),
      country: z.string().nullable().exactOptional(),
      region: z.string().nullable().exactOptional(),
      timezone: z.string().nullable().exactOptional(),
    })
    .nullable()
    .exactOptional(),
});

export type UrlSourceFilter = z.infer<typeof UrlSourceFilter>;
export type UrlSourceUserInput = z.infer<typeof UrlSourceUserInput>;
export type UrlSourcesParams = z.infer<typeof UrlSourcesParams>;
export type UrlSources = z.infer<typeof UrlSources>;
export type UserLocation = z.infer<typeof UserLocation>;
export type WebFetchConfigParams = z.infer<typeof WebFetchConfigParams>;
export type WebSearchConfigParams = z.infer<typeof WebSearchConfigParams>;
export type WebFetchConfig = z.infer<typeof WebFetchConfig>;
export type WebSearchConfig = z.infer<typeof WebSearchConfig>;
