import { z } from "zod";
import { nonEmptyText, text } from "./text.ts";

/** What a credential authenticates with (wire §9): what is sent of it, and what is answered. */

const urlMax = 2048;
const tokenMax = 32_768;
const oauthTextMax = 1024;
const scopeMax = 4096;
const secretNameMax = 255;
const hostMax = 253;
const hostsMax = 16;

const label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
const hostname = new RegExp(`^(?:\\*\\.)?${label}(?:\\.${label})*$`);
/** A host whose last label is a number is an address, and nothing else. */
const numeric = /(?:^|\.)\d+$/;
const byte = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const ipv4 = new RegExp(`^${byte}(?:\\.${byte}){3}$`);

const AllowedHost = z
  .string()
  .max(hostMax)
  .refine(
    (host) => (numeric.test(host) ? ipv4.test(host) : hostname.test(host)),
    "must be a host name, an IPv4 address or `*.` and a host name, without scheme, port or path",
  );

/** Goes into a header, which nothing but printable ASCII survives. */
const Token = nonEmptyText(tokenMax).regex(/^[ -~]+$/, "must be printable ASCII on one line");
const SecretText = nonEmptyText(tokenMax);

/** Where a secret is sent: nobody on the way may read it, and no second secret may be in it. */
const SecretUrl = nonEmptyText(urlMax).refine(
  isSecretUrl,
  "must be an https URL, or http on localhost, without user name and password",
);

/** For fields that a credential keeps for its life. */
const Immutable = z.never({ error: "cannot be changed after the credential was created" });

const SecretName = z
  .string()
  .max(secretNameMax)
  .regex(
    /^[A-Za-z_][A-Za-z0-9_]*$/,
    "must be the name of an environment variable: letters, digits and _, not first a digit",
  );

const CredentialNetworkingParams = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("unrestricted") }),
  z.strictObject({
    type: z.literal("limited"),
    allowed_hosts: z.array(AllowedHost).max(hostsMax),
  }),
]);
const CredentialNetworking = z.discriminatedUnion("type", [
  z.object({ type: z.literal("unrestricted") }),
  z.object({ type: z.literal("limited"), allowed_hosts: z.array(z.string()) }),
]);

const InjectionLocationParams = z.strictObject({
  header: z.boolean().optional(),
  body: z.boolean().optional(),
});
const InjectionLocation = z.object({ header: z.boolean(), body: z.boolean() });

const RefreshParams = z.strictObject({
  client_id: nonEmptyText(oauthTextMax),
  refresh_token: SecretText,
  token_endpoint: SecretUrl,
  token_endpoint_auth: z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("none") }),
    z.strictObject({ type: z.literal("client_secret_basic"), client_secret: SecretText }),
    z.strictObject({ type: z.literal("client_secret_post"), client_secret: SecretText }),
  ]),
  resource: text(urlMax).nullish(),
  scope: text(scopeMax).nullish(),
});
const RefreshUpdateParams = z.strictObject({
  client_id: Immutable.optional(),
  token_endpoint: Immutable.optional(),
  resource: Immutable.optional(),
  refresh_token: SecretText.nullish(),
  /** Empty clears it. */
  scope: text(scopeMax).nullish(),
  token_endpoint_auth: z
    .strictObject({
      type: z.enum(["client_secret_basic", "client_secret_post"]),
      client_secret: SecretText.nullish(),
    })
    .optional(),
});
const Refresh = z.object({
  client_id: z.string(),
  token_endpoint: z.string(),
  token_endpoint_auth: z.object({
    type: z.enum(["none", "client_secret_basic", "client_secret_post"]),
  }),
  resource: z.string().nullable(),
  scope: z.string().nullable(),
});

export const CredentialAuthParams = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("static_bearer"),
    token: Token,
    mcp_server_url: SecretUrl,
  }),
  z.strictObject({
    type: z.literal("mcp_oauth"),
    access_token: Token,
    mcp_server_url: SecretUrl,
    expires_at: z.iso.datetime({ offset: true }).nullish(),
    refresh: RefreshParams.nullish(),
  }),
  z.strictObject({
    type: z.literal("environment_variable"),
    secret_name: SecretName,
    secret_value: SecretText,
    networking: CredentialNetworkingParams,
    injection_location: InjectionLocationParams.optional(),
  }),
]);

/** Null is as leaving the field out. */
export const CredentialAuthUpdateParams = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("static_bearer"),
    mcp_server_url: Immutable.optional(),
    token: Token.nullish(),
  }),
  z.strictObject({
    type: z.literal("mcp_oauth"),
    mcp_server_url: Immutable.optional(),
    access_token: Token.nullish(),
    expires_at: z.iso.datetime({ offset: true }).nullish(),
    refresh: RefreshUpdateParams.nullish(),
  }),
  z.strictObject({
    type: z.literal("environment_variable"),
    secret_name: Immutable.optional(),
    secret_value: SecretText.nullish(),
    networking: CredentialNetworkingParams.nullish(),
    injection_location: InjectionLocationParams.optional(),
  }),
]);

/** All that is ever answered of it: no secret. */
export const CredentialAuth = z.discriminatedUnion("type", [
  z.object({ type: z.literal("static_bearer"), mcp_server_url: z.string() }),
  z.object({
    type: z.literal("mcp_oauth"),
    mcp_server_url: z.string(),
    /** Absent if it is not known. */
    expires_at: z.string().exactOptional(),
    refresh: Refresh.nullable(),
  }),
  z.object({
    type: z.literal("environment_variable"),
    secret_name: z.string(),
    networking: CredentialNetworking,
    injection_location: InjectionLocation,
  }),
]);

function isSecretUrl(value: string): boolean {
  if (!URL.canParse(value) || !/^https?:\/\/[^\s]+$/i.test(value)) return false;
  const { protocol, hostname: host, username, password } = new URL(value);
  if (username !== "" || password !== "") return false;
  return protocol === "https:" || /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/.test(host);
}

export type CredentialAuthParams = z.infer<typeof CredentialAuthParams>;
export type CredentialAuthUpdateParams = z.infer<typeof CredentialAuthUpdateParams>;
export type CredentialAuth = z.infer<typeof CredentialAuth>;
