import { z } from "zod";
import { ModelSettings } from "./config-models.ts";
import { PACKAGE_SETTINGS } from "./config-packages.ts";
import { dollars } from "./config-prices.ts";
import { DEFAULT_PROVIDERS } from "./core/sandboxes/chosen-provider.ts";
import { PROVIDER_NAMES } from "./core/sandboxes/providers.ts";
import { parseNetwork } from "./lib/ip-address.ts";

/** Names in one setting. */
const NAMES_MAX = 100;

/** With commas between them, or a list in YAML. */
const Names = z
  .union([z.string(), z.array(z.string()).max(NAMES_MAX)])
  .transform((names) =>
    (typeof names === "string" ? names.split(",") : names)
      .map((name) => name.trim())
      .filter((name) => name !== ""),
  );

const HOST = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i;
/** A last label that is a number makes an address of a kind that is not taken, such as 127.1. */
const NUMERIC = /(^|\.)(0x[0-9a-f]*|\d+)$/i;

const EgressTarget = z
  .string()
  .refine(
    (name) => parseNetwork(name) !== undefined || (HOST.test(name) && !NUMERIC.test(name)),
    "must be addresses, networks such as 10.0.0.0/8 and host names, without scheme or port",
  );

const Provider = z.enum(PROVIDER_NAMES);

/**
 * Every setting, by its environment variable. In the YAML file a setting has the same name without
 * `DROVER_` and in small letters: `DROVER_MODEL_BASE_URL` is `model_base_url`.
 */
export const Settings = z.strictObject({
  DROVER_DATA: z
    .string()
    .min(1)
    .default("./.drover")
    .describe(
      "The folder that holds everything: the database, files, sandboxes, keys. One server each, unless the database is PostgreSQL.",
    ),
  DROVER_HOST: z
    .string()
    .min(1)
    .default("127.0.0.1")
    .describe("The address to listen on. `0.0.0.0` opens the server to the network."),
  DROVER_PORT: z.coerce
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(8420)
    .describe("The port to listen on; `0` takes any free one, told by the line on stdout."),
  DROVER_API_KEY: z
    .string()
    .regex(/^[!-~]{16,512}$/, "must have 16 to 512 characters without blanks")
    .optional()
    .describe(
      "The key clients must send. Without it one is made at the first start and kept in the data folder (`drover keys show`).",
    ),
  DROVER_ENCRYPTION_KEY: z
    .string()
    .min(1)
    .transform((list) => list.split(",").map((key) => key.trim()))
    .optional()
    .describe(
      "The key that stored secrets are encrypted with, 32 bytes in base64. Several with commas between them: the first encrypts, all decrypt. Without it one is made at the first start and kept in the data folder.",
    ),
  DROVER_DATABASE: z
    .string()
    .default("sqlite")
    .refine((value) => value === "sqlite" || isPostgresUrl(value), {
      error: "must be `sqlite` or a URL such as postgres://user:password@host:5432/drover",
    })
    .describe(
      "Where the log is kept: `sqlite`, a file in the data folder, or the URL of a PostgreSQL database (14 or newer), `postgres://user:password@host:5432/drover`, which several servers may share.",
    ),
  DROVER_LOG_LEVEL: z
    .enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
    .default("info")
    .describe("The least severe log lines to write to stderr."),
  DROVER_MODEL_BASE_URL: z
    .url({ protocol: /^https?$/, error: "must be an http or https URL" })
    .optional()
    .describe(
      "Base URL of the Messages API that answers for the agents whose model is not another provider's. Falls back to `ANTHROPIC_BASE_URL`. Must not be this server.",
    ),
  DROVER_MODEL_API_KEY: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Key for that API. `ANTHROPIC_API_KEY` or `ANTHROPIC_AUTH_TOKEN` is used instead only if the base URL is not set here either.",
    ),
  DROVER_MODEL_SILENCE_MS: z.coerce
    .number()
    .int()
    .min(100)
    .max(3_600_000)
    .default(120_000)
    .describe("A model's answer in which nothing comes for so long, in milliseconds, is cut off."),
  DROVER_MODEL_ATTEMPTS: z.coerce
    .number()
    .int()
    .min(1)
    .max(100)
    .default(6)
    .describe("Failed model requests in a row after which a turn is given up."),
  DROVER_MODEL_BACKOFF_MS: z.coerce
    .number()
    .int()
    .min(1)
    .max(600_000)
    .default(1_000)
    .describe(
      "Milliseconds before the second attempt; doubled for each further one, at most a minute, unless the API asks for more.",
    ),
  DROVER_MODEL_RETRY_BUDGET_MS: z.coerce
    .number()
    .int()
    .min(0)
    .max(7 * 86_400_000)
    .default(1_800_000)
    .describe(
      "Milliseconds from the first failed model request in a row to the last attempt, after which a turn is given up.",
    ),
  DROVER_JUDGE_MODEL: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe(
      "The model that judges the calls of tools under the policy `auto`. Without it each session's own model does. See [approvals](approvals.md).",
    ),
  DROVER_POLICIES_OFF: Names.default([]).describe(
    "Workarounds for weaknesses of models that are not to be used, by name, with commas between; `all` for every one. See [policies](policies.md).",
  ),
  DROVER_SESSION_EVENTS: z
    .enum(["after_compaction", "always", "never"])
    .default("after_compaction")
    .describe(
      "When a model is offered the tool `session_events`, by which it looks back at its whole session; see [compaction](compaction.md).",
    ),
  DROVER_MODELS: ModelSettings.default([]).describe(
    "Models to be listed and to be called by other names; see [models](models.md). A YAML list, or JSON. Besides those of the models file.",
  ),
  DROVER_MODELS_FILE: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Path of a YAML or JSON file with model providers and models: other APIs, prices, limits, what a model can do; see [models](models.md). Read at the start.",
    ),
  DROVER_HOUR_PRICE: dollars("dollars for an hour")
    .default("0.08")
    .describe(
      "Dollars for an hour in which a session runs, in its list cost; see [budgets](budgets.md).",
    ),
  DROVER_SEARCH_PRICE: dollars("dollars for a thousand")
    .default("10")
    .describe("Dollars for a thousand web searches, in the list cost."),
  DROVER_SEARCH_PROVIDER: z
    .enum(["searxng", "brave", "tavily"])
    .optional()
    .describe(
      "Who searches the web for the tool `web_search`: `searxng`, `brave` or `tavily`; see [web tools](web-tools.md). Without it the tool says that it is not set up.",
    ),
  DROVER_SEARCH_URL: z
    .url({ protocol: /^https?$/, error: "must be an http or https URL" })
    .optional()
    .describe(
      "Base URL of the search provider, such as `http://127.0.0.1:8888`. Needed for `searxng`; the others have their own.",
    ),
  DROVER_SEARCH_API_KEY: z
    .string()
    .regex(/^[!-~]{1,512}$/, "must have 1 to 512 characters without blanks")
    .optional()
    .describe("Key for the search provider. Needed for `brave` and `tavily`."),
  DROVER_EGRESS_ALLOW: Names.pipe(z.array(EgressTarget))
    .default([])
    .describe(
      "What the server, its sandboxes, the cloning of repositories, the clients of MCP servers and the tool `web_fetch` may connect to though it is not of the public internet, also without TLS: addresses, networks and host names, with commas between, such as `127.0.0.1,10.20.0.0/16,mcp.internal`. Every holder of an API key and every agent with that tool can then reach them, and so can code in every sandbox whose environment allows the host.",
    ),
  DROVER_SECRETS_FOLDER: z
    .string()
    .regex(/^\/./, "must be an absolute path")
    .optional()
    .describe(
      "A folder of secrets that are kept outside of the database, as `<folder>/<workspace id>/<name>`: a credential whose secret is `drover-secrets://files/<name>` is read there whenever it is used. See [vaults](vaults.md).",
    ),
  DROVER_SECRETS_COMMAND: z
    .string()
    .regex(/^\/./, "must be an absolute path")
    .optional()
    .describe(
      "A program that prints a secret, run as `<program> <workspace id> <name>` whenever a credential whose secret is `drover-secrets://command/<name>` is used: the way to any manager of secrets. See [vaults](vaults.md).",
    ),
  DROVER_SANDBOX_PROVIDER: Names.pipe(
    z.tuple([Provider], Provider).refine((names) => new Set(names).size === names.length, {
      error: "must name each once",
    }),
  )
    .default([...DEFAULT_PROVIDERS])
    .describe(
      "Who makes sandboxes: `bubblewrap`, `docker`, `gvisor`, with commas between. The first is for all environments but those that name another of them in their metadata (`drover.provider`). See [sandboxes](sandboxes.md).",
    ),
  DROVER_DOCKER_SOCKET: z
    .string()
    .regex(/^\/./, "must be an absolute path")
    .max(107)
    .default("/var/run/docker.sock")
    .describe(
      "The socket of the Docker Engine, for the providers `docker` and `gvisor`. Whoever may speak to it is as good as root on its machine.",
    ),
  DROVER_DOCKER_IMAGE: z
    .string()
    .regex(/^[a-z0-9][\w./:@-]{0,254}$/, "must be the name of an image")
    .optional()
    .describe(
      "The image that containers are made from, which the engine must have already; it needs bash, perl and tar. Without it they have this machine's programs, read-only.",
    ),
  DROVER_GVISOR_RUNTIME: z
    .string()
    .regex(/^[A-Za-z0-9][\w.-]{0,63}$/, "must be the name of a runtime")
    .default("runsc")
    .describe("What the Docker Engine calls gVisor among its runtimes."),
  DROVER_SANDBOX_NETWORK: z
    .enum(["environment", "none"])
    .default("environment")
    .describe(
      "`none`: no sandbox has a network, whatever its environment says; one that was promised one is then not made. See [network](network.md).",
    ),
  DROVER_SANDBOX_MEMORY_MB: z.coerce
    .number()
    .int()
    .refine((mb) => mb === 0 || (mb >= 64 && mb <= 16_777_216), "must be 0, or 64 to 16777216")
    .default(4096)
    .describe(
      "Megabytes of memory that all processes of a sandbox may have together, swap and what is in `/tmp` included; `0` for no limit. See [limits](limits.md).",
    ),
  DROVER_SANDBOX_CPUS: z.coerce
    .number()
    .refine((cpus) => cpus === 0 || (cpus >= 0.01 && cpus <= 4096), "must be 0, or 0.01 to 4096")
    .default(0)
    .describe(
      "Processors that a sandbox may use at a time, such as `0.5` or `2`; `0` for no limit.",
    ),
  DROVER_SANDBOX_PROCESSES: z.coerce
    .number()
    .int()
    .min(16)
    .max(1_000_000)
    .default(512)
    .describe("Processes and threads that a sandbox may have at a time."),
  DROVER_SANDBOX_OPEN_FILES: z.coerce
    .number()
    .int()
    .min(64)
    .max(1_000_000)
    .default(4096)
    .describe("Files that each process in a sandbox may have open at a time."),
  DROVER_SANDBOX_DISK_MB: z.coerce
    .number()
    .int()
    .refine((mb) => mb === 0 || (mb >= 64 && mb <= 1_048_576), "must be 0, or 64 to 1048576")
    .default(10_240)
    .describe(
      "Megabytes that all files of a session in `/workspace` and `/mnt/session/outputs` may have; `0` for no limit. For sessions that get their first sandbox from now on. See [limits](limits.md).",
    ),
  DROVER_SANDBOX_ENFORCE: z
    .enum(["where_possible", "required"])
    .default("where_possible")
    .describe(
      "`required`: no sandbox is made where one of its limits cannot be enforced. `where_possible`: `drover doctor` says which hold.",
    ),
  DROVER_SANDBOX_IDLE_SECONDS: z.coerce
    .number()
    .int()
    .min(1)
    .max(604_800)
    .default(1_800)
    .describe(
      "Seconds after the last call until a sandbox is ended and its files are kept in the blob store. See [the life of a sandbox](sandbox-life.md).",
    ),
  DROVER_SANDBOX_KEEP_MB: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_048_576)
    .default(4_096)
    .describe(
      "Megabytes of files of an idle sandbox that are kept in the blob store; one with more stays on its machine's disk alone, and the server says so. `0`: none are kept there.",
    ),
  DROVER_SANDBOX_CACHE_MB: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_073_741_824)
    .default(20_480)
    .describe(
      "Megabytes of files of idle sandboxes that stay on this machine's disk though they are kept in the blob store too. Beyond it the longest unused go, and come back from there.",
    ),
  DROVER_SANDBOX_WARM: z.coerce
    .number()
    .int()
    .min(0)
    .max(64)
    .default(0)
    .describe(
      "Spare sandboxes that are kept ready, so that the first call of a new session need not wait for one to be made. `0`: none are. See [spare sandboxes](sandbox-life.md#spare-sandboxes).",
    ),
  ...PACKAGE_SETTINGS,
  DROVER_FILES_BYTES_MAX: z.coerce
    .number()
    .int()
    .min(1)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe(
      "Bytes that the files of one workspace may have in all, the same content counted once; an upload beyond is refused. What agents leave counts and is never refused. Without it there is no end.",
    ),
  DROVER_SKILLS: z
    .string()
    .min(1)
    .optional()
    .describe(
      "A folder of skills for all workspaces. Each folder in it is one, under its own name, such as `xlsx`: agents name it as a skill of Anthropic. Read at the start.",
    ),
  DROVER_BWRAP: z
    .string()
    .min(1)
    .optional()
    .describe("Path of the `bwrap` program, if it is not on the `PATH`."),
  DROVER_CONFIG: z
    .string()
    .min(1)
    .optional()
    .describe("Path of a YAML file with any of these settings; the environment wins over it."),
  DROVER_TEST_COUPLED: z
    .enum(["true", "false"])
    .default("false")
    .describe(
      "For the benchmark only. `true`: a session's sandbox is made before its model is first asked, to compare with what Drover does by itself.",
    ),
  DROVER_TEST_FAIL_POINT: z
    .string()
    .regex(/^[a-z0-9._-]+:[1-9][0-9]*(:stop)?$/, "must be `name:nth` or `name:nth:stop`")
    .optional()
    .describe(
      "For tests only. `name:nth`: the process kills itself the nth time it passes that point; with `:stop` it only stops.",
    ),
  DROVER_TEST_UNSAFE: z
    .string()
    .transform((list) => list.split(",").filter((name) => name !== ""))
    .pipe(z.array(z.enum(["fence", "journal", "reattach"])))
    .default([])
    .describe(
      "For tests of Drover only, never for data that matters: with it events can be lost or doubled and tools run twice, and every start logs a warning that no log level hides. Comma list of safeguards to switch off, to prove that the tests notice: `fence`, `journal`, `reattach`.",
    ),
});

export const SETTING_NAMES = Settings.keyof().options;

function isPostgresUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, pathname } = new URL(value);
  return ["postgres:", "postgresql:"].includes(protocol) && /^\/[^/]+$/.test(pathname);
}

/** The name of a setting in the YAML file. */
export function yamlKey(name: string): string {
  return name.replace(/^DROVER_/, "").toLowerCase();
}
