import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parse } from "yaml";
import type { z } from "zod";
import { scaled } from "./config-model-prices.ts";
import type { ConfiguredModel } from "./config-models.ts";
import { type ConfiguredProvider, configuredModels } from "./config-models-access.ts";
import { type PackageRegistrySettings, packageRegistries, sandboxBase } from "./config-packages.ts";
import { PICODOLLAR_DECIMALS } from "./config-prices.ts";
import {
  type SandboxLifeSettings,
  type SandboxLimitSettings,
  sandboxLife,
  sandboxLimits,
} from "./config-sandbox.ts";
import { type SandboxProviderSettings, sandboxProviders } from "./config-sandbox-providers.ts";
import { type ConfiguredSearch, configuredSearch, problemInSearch } from "./config-search.ts";
import { SETTING_NAMES, Settings, yamlKey } from "./config-settings.ts";
import type { SandboxBase } from "./core/ports/hands.ts";
import { closestName } from "./lib/closest-name.ts";
import { OperatorError } from "./lib/operator-error.ts";
import { Secret } from "./lib/secret.ts";

/** What the operator chose. Frozen; the only place that has read the environment. */
export interface Config {
  /** Absolute path. */
  readonly data: string;
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
  readonly apiKey?: Secret;
  /** The first seals stored secrets, all open them. */
  readonly encryptionKeys?: readonly Secret[];
  /** The PostgreSQL database that holds the log, if it is not the SQLite file in the data folder. */
  readonly postgresUrl?: Secret;
  readonly logLevel: "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";
  readonly model: {
    readonly baseUrl?: string;
    readonly apiKey?: Secret;
    /** Others, by the models file. */
    readonly providers: readonly ConfiguredProvider[];
    /** Of all of them; those that name no provider are of the API at `baseUrl`. */
    readonly models: readonly ConfiguredModel[];
    /** Milliseconds. */
    readonly silenceMs: number;
    readonly attemptsMax: number;
    /** Milliseconds. */
    readonly backoffMs: number;
    /** Milliseconds. */
    readonly retryBudgetMs: number;
  };
  /** The model that judges calls under `auto`, if it is not each session's own. */
  readonly judgeModel?: string;
  /** Addresses, networks and host names that may be dialled though they are not of the public internet. */
  readonly egressAllow: readonly string[];
  /** Who searches the web; absent for nobody. */
  readonly search?: ConfiguredSearch;
  /** Who makes sandboxes. */
  readonly sandboxProviders: SandboxProviderSettings;
  /** Whether sandboxes have the network that their environment says, or none. */
  readonly sandboxNetwork: "environment" | "none";
  /** What each sandbox may use, and whether that must be enforced. */
  readonly sandboxLimits: SandboxLimitSettings;
  readonly sandboxLife: SandboxLifeSettings;
  /** The root file system of new sessions' sandboxes. */
  readonly sandboxBase: SandboxBase;
  /** Where packages come from, where that is not the public registry. */
  readonly packageRegistries: PackageRegistrySettings;
  /** When models are offered to look back at their whole session. */
  readonly sessionEvents: "after_compaction" | "always" | "never";
  /** Names of workarounds that are not to be used; `all` is one. Not yet checked. */
  readonly policiesOff: readonly string[];
  /** Picodollars (10^-12 dollars). */
  readonly prices: { readonly hour: number; readonly search: number };
  /** Bytes that the files of a workspace may have in all. */
  readonly filesBytesMax?: number;
  /** Absolute path of the folder with the skills of all workspaces. */
  readonly skills?: string;
  readonly bwrapPath?: string;
  /** Managers of secrets beside the database. */
  readonly secretsFolder?: string;
  readonly secretsCommand?: string;
  /** Switches that only tests use. */
  readonly test: {
    readonly failPoint?: string;
    readonly coupled: boolean;
    readonly unsafe: readonly ("fence" | "journal" | "reattach")[];
  };
}

/** The settings make no sense; the message is a sentence that names the setting. */
export class ConfigError extends OperatorError {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = "ConfigError";
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/** This process's environment, of which a program that it starts may be given parts by name. */
export function processEnvironment(): Environment {
  return process.env;
}

/**
 * Reads the environment, with `overrides` before it, and the YAML file that `DROVER_CONFIG` names.
 * Throws `ConfigError` on an unknown name or a bad value.
 */
export function loadConfig(
  environment: Environment = process.env,
  overrides: Environment = {},
): Config {
  const env = { ...environment, ...overrides };
  const given = Object.entries(env).filter(
    ([name, value]) => name.startsWith("DROVER_") && value !== undefined && value !== "",
  );
  refuseUnknown(
    given.map(([name]) => name),
    SETTING_NAMES,
    "the environment",
  );
  const file = env["DROVER_CONFIG"];
  const parsed = Settings.safeParse({
    ...(file ? readYaml(file) : {}),
    ...Object.fromEntries(given),
  });
  if (!parsed.success) throw new ConfigError(explain(parsed.error));
  const problem = problemInSearch(parsed.data);
  if (problem !== undefined) throw new ConfigError(problem);
  const config = toConfig(parsed.data, env);
  refuseOwnAddress(config, config.port);
  return config;
}

/**
 * Throws `ConfigError` if models would be asked at this server's own address, which would wait for
 * itself for ever. Called again with the real port by a server that was told to take any.
 */
export function refuseOwnAddress(config: Pick<Config, "host" | "model">, port: number): void {
  if (port === 0) return;
  const { baseUrl, providers } = config.model;
  if (baseUrl !== undefined && isOwnAddress(baseUrl, config.host, port)) {
    throw new ConfigError(
      `The model base URL ${new URL(baseUrl).origin} is this server itself; set DROVER_MODEL_BASE_URL to the API that runs the model.`,
    );
  }
  const own = providers.find((provider) => isOwnAddress(provider.baseUrl, config.host, port));
  if (own === undefined) return;
  throw new ConfigError(
    `The base URL ${new URL(own.baseUrl).origin} of the model provider ${own.name} is this server itself; set its base_url to the API that runs the models.`,
  );
}

function isOwnAddress(baseUrl: string, host: string, port: number): boolean {
  const url = new URL(baseUrl);
  const urlPort = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  const hosts = new Set([host, ...LOCAL_NAMES]);
  return urlPort === port && hosts.has(url.hostname.replace(/^\[|\]$/g, ""));
}

const LOCAL_NAMES = ["localhost", "127.0.0.1", "0.0.0.0", "::1", "::"];

const CONFIG_FILE_BYTES_MAX = 1024 * 1024;

function readYaml(path: string): Record<string, unknown> {
  const content = parseYaml(path);
  if (content === null || content === undefined) return {};
  if (typeof content !== "object" || Array.isArray(content)) {
    throw new ConfigError(`The configuration file ${path} must hold names and values.`);
  }
  const known = new Map(SETTING_NAMES.map((name) => [yamlKey(name), name]));
  known.delete("config");
  const names = Object.keys(content);
  refuseUnknown(names, [...known.keys()], `the configuration file ${path}`);
  return Object.fromEntries(
    Object.entries(content).map(([name, value]) => [known.get(name) ?? name, value]),
  );
}

function parseYaml(path: string): unknown {
  try {
    const text = readFileSync(path, "utf8");
    if (text.length > CONFIG_FILE_BYTES_MAX) throw new Error("it is larger than 1 MB");
    return parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`The configuration file ${path} cannot be read: ${reason}`, {
      cause: error,
    });
  }
}

function refuseUnknown(names: readonly string[], known: readonly string[], where: string): void {
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const closest = closestName(unknown, known);
  const hint = closest === undefined ? "" : ` Did you mean ${closest}?`;
  throw new ConfigError(`${unknown} in ${where} is not a setting of Drover.${hint}`);
}

function explain(error: z.ZodError): string {
  return error.issues
    .map(({ path: [name, ...place], message }) => {
      const where = place.length === 0 ? "" : `${place.join(".")}: `;
      return `${String(name ?? "A setting")} is not usable: ${where}${message}.`;
    })
    .join(" ");
}

function toConfig(settings: z.output<typeof Settings>, env: Environment): Config {
  const { DROVER_API_KEY: key, DROVER_BWRAP: bwrap, DROVER_TEST_FAIL_POINT: point } = settings;
  const encryptionKeys = settings.DROVER_ENCRYPTION_KEY?.map((each) => new Secret(each));
  const { DROVER_SECRETS_FOLDER: secretsFolder, DROVER_SECRETS_COMMAND: secretsCommand } = settings;
  const { DROVER_SKILLS: skills, DROVER_FILES_BYTES_MAX: filesBytesMax } = settings;
  return Object.freeze({
    data: resolve(settings.DROVER_DATA),
    host: settings.DROVER_HOST,
    port: settings.DROVER_PORT,
    ...(key === undefined ? {} : { apiKey: new Secret(key) }),
    ...(encryptionKeys === undefined ? {} : { encryptionKeys: Object.freeze(encryptionKeys) }),
    ...(settings.DROVER_DATABASE === "sqlite"
      ? {}
      : { postgresUrl: new Secret(settings.DROVER_DATABASE) }),
    logLevel: settings.DROVER_LOG_LEVEL,
    model: Object.freeze(modelAccess(settings, env)),
    ...(settings.DROVER_JUDGE_MODEL !== undefined && { judgeModel: settings.DROVER_JUDGE_MODEL }),
    egressAllow: Object.freeze(settings.DROVER_EGRESS_ALLOW),
    ...configuredSearch(settings),
    sandboxProviders: Object.freeze(sandboxProviders(settings)),
    sandboxNetwork: settings.DROVER_SANDBOX_NETWORK,
    sandboxLimits: Object.freeze(sandboxLimits(settings)),
    sandboxLife: Object.freeze(sandboxLife(settings)),
    sandboxBase: sandboxBase(settings.DROVER_SANDBOX_BASE),
    packageRegistries: Object.freeze(packageRegistries(settings)),
    policiesOff: Object.freeze(settings.DROVER_POLICIES_OFF),
    sessionEvents: settings.DROVER_SESSION_EVENTS,
    prices: Object.freeze({
      hour: scaled(settings.DROVER_HOUR_PRICE, PICODOLLAR_DECIMALS),
      // The price is for a thousand.
      search: scaled(settings.DROVER_SEARCH_PRICE, PICODOLLAR_DECIMALS - 3),
    }),
    ...(filesBytesMax === undefined ? {} : { filesBytesMax }),
    ...(skills === undefined ? {} : { skills: resolve(skills) }),
    ...(bwrap === undefined ? {} : { bwrapPath: bwrap }),
    ...(secretsFolder === undefined ? {} : { secretsFolder }),
    ...(secretsCommand === undefined ? {} : { secretsCommand }),
    test: Object.freeze({
      ...(point === undefined ? {} : { failPoint: point }),
      coupled: settings.DROVER_TEST_COUPLED === "true",
      unsafe: settings.DROVER_TEST_UNSAFE,
    }),
  });
}

/** A key meant for Anthropic never goes to a base URL that was set for Drover alone. */
function modelAccess(settings: z.output<typeof Settings>, env: Environment): Config["model"] {
  const own = settings.DROVER_MODEL_BASE_URL;
  const baseUrl = own ?? nonEmpty(env["ANTHROPIC_BASE_URL"]);
  if (baseUrl !== undefined && !URL.canParse(baseUrl)) {
    throw new ConfigError("ANTHROPIC_BASE_URL is not usable: must be an http or https URL.");
  }
  const theirs = nonEmpty(env["ANTHROPIC_API_KEY"]) ?? nonEmpty(env["ANTHROPIC_AUTH_TOKEN"]);
  const key = settings.DROVER_MODEL_API_KEY ?? (own === undefined ? theirs : undefined);
  return {
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(key === undefined ? {} : { apiKey: new Secret(key) }),
    ...configured(settings, env),
    silenceMs: settings.DROVER_MODEL_SILENCE_MS,
    attemptsMax: settings.DROVER_MODEL_ATTEMPTS,
    backoffMs: settings.DROVER_MODEL_BACKOFF_MS,
    retryBudgetMs: settings.DROVER_MODEL_RETRY_BUDGET_MS,
  };
}

/** The models of the file and of the list, as one. */
function configured(
  { DROVER_MODELS: models, DROVER_MODELS_FILE: path }: z.output<typeof Settings>,
  env: Environment,
) {
  try {
    return configuredModels({ models, path, env });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const where = path === undefined ? "DROVER_MODELS" : `The models file ${path}`;
    throw new ConfigError(`${where} is not usable: ${reason}.`, { cause: error });
  }
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === "" ? undefined : value;
}
