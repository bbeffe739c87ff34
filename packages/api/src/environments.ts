import { z } from "zod";
import { Metadata, MetadataPatch } from "./metadata.ts";
import { archivedQuery, pageQuery } from "./pagination.ts";
import { nonEmptyText, text } from "./text.ts";

/** Environments (wire §4). */

const nameMax = 256;
const descriptionMax = 2048;
const hostsMax = 256;
const packagesMax = 256;

export const packageManagers = ["apt", "cargo", "gem", "go", "npm", "pip"] as const;
export type PackageManager = (typeof packageManagers)[number];

const AllowedHost = z
  .string()
  .max(253)
  .regex(
    /^(?:\*\.)?[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/,
    "must be a bare host or *.host, without scheme, port or path",
  );

/** Names reach package managers' command lines: nothing that could be an option or a second word. */
const PackageName = text(256).regex(
  /^[A-Za-z0-9@._/][^\s]*$/,
  "must be a package name, optionally with a version, without blanks",
);
const PackageNames = z.array(PackageName).max(packagesMax);

export const PackagesParams = z.strictObject({
  type: z.literal("packages").optional(),
  apt: PackageNames.nullish(),
  cargo: PackageNames.nullish(),
  gem: PackageNames.nullish(),
  go: PackageNames.nullish(),
  npm: PackageNames.nullish(),
  pip: PackageNames.nullish(),
});
const StoredNames = z.array(z.string());
export const Packages = z.object({
  type: z.literal("packages"),
  apt: StoredNames,
  cargo: StoredNames,
  gem: StoredNames,
  go: StoredNames,
  npm: StoredNames,
  pip: StoredNames,
});

export const NetworkingParams = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("unrestricted") }),
  z.strictObject({
    type: z.literal("limited"),
    allowed_hosts: z.array(AllowedHost).max(hostsMax).nullish(),
    allow_mcp_servers: z.boolean().nullish(),
    allow_package_managers: z.boolean().nullish(),
  }),
]);
export const Networking = z.discriminatedUnion("type", [
  z.object({ type: z.literal("unrestricted") }),
  z.object({
    type: z.literal("limited"),
    allowed_hosts: z.array(z.string()),
    allow_mcp_servers: z.boolean(),
    allow_package_managers: z.boolean(),
  }),
]);

export const EnvironmentConfigParams = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("cloud"),
    networking: NetworkingParams.nullish(),
    packages: PackagesParams.nullish(),
  }),
  z.strictObject({ type: z.literal("self_hosted") }),
]);
export const CloudConfig = z.object({
  type: z.literal("cloud"),
  networking: Networking,
  packages: Packages,
});
export const EnvironmentConfig = z.discriminatedUnion("type", [
  CloudConfig,
  z.object({ type: z.literal("self_hosted") }),
]);

const Scope = z.enum(["organization", "account"]);

export const EnvironmentCreateParams = z.strictObject({
  name: nonEmptyText(nameMax),
  config: EnvironmentConfigParams.nullish(),
  description: text(descriptionMax).nullish(),
  metadata: Metadata.optional(),
  scope: Scope.nullish(),
});

export const EnvironmentUpdateParams = z.strictObject({
  name: nonEmptyText(nameMax).nullish(),
  config: EnvironmentConfigParams.nullish(),
  description: text(descriptionMax).nullish(),
  metadata: MetadataPatch.nullish(),
  scope: Scope.nullish(),
});

/** What is stored of an environment beside its columns. */
export const EnvironmentDefinition = z.object({
  config: EnvironmentConfig,
  description: z.string().nullable(),
  metadata: z.record(z.string(), z.string()),
  scope: z.literal("organization"),
});

export const Environment = EnvironmentDefinition.extend({
  id: z.string(),
  type: z.literal("environment"),
  name: z.string(),
  /** Not in the SDK's types; the hosted service sends it. */
  state: z.enum(["active", "archived"]),
  created_at: z.string(),
  updated_at: z.string(),
  archived_at: z.string().nullable(),
});

export const EnvironmentDeleted = z.object({
  id: z.string(),
  type: z.literal("environment_deleted"),
});

export const EnvironmentListQuery = z.strictObject({ ...pageQuery, ...archivedQuery });

export type PackagesParams = z.infer<typeof PackagesParams>;
export type Packages = z.infer<typeof Packages>;
export type NetworkingParams = z.infer<typeof NetworkingParams>;
export type Networking = z.infer<typeof Networking>;
export type EnvironmentConfigParams = z.infer<typeof EnvironmentConfigParams>;
export type CloudConfig = z.infer<typeof CloudConfig>;
export type EnvironmentConfig = z.infer<typeof EnvironmentConfig>;
export type EnvironmentCreateParams = z.infer<typeof EnvironmentCreateParams>;
export type EnvironmentUpdateParams = z.infer<typeof EnvironmentUpdateParams>;
export type EnvironmentDefinition = z.infer<typeof EnvironmentDefinition>;
export type Environment = z.infer<typeof Environment>;
export type EnvironmentDeleted = z.infer<typeof EnvironmentDeleted>;
export type EnvironmentListQuery = z.infer<typeof EnvironmentListQuery>;
