import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { inspect } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { ConfigError, loadConfig, refuseOwnAddress } from "./config.ts";

const MODEL_DEFAULTS = {
  providers: [],
  models: [],
  silenceMs: 120_000,
  attemptsMax: 6,
  backoffMs: 1_000,
  retryBudgetMs: 1_800_000,
};

test("with nothing set, the server is local, on SQLite and without a model API", () => {
  expect(loadConfig({ PATH: "/bin" })).toEqual({
    data: resolve(".drover"),
    host: "127.0.0.1",
    policiesOff: [],
    sessionEvents: "after_compaction",
    prices: { hour: 80_000_000_000, search: 10_000_000_000 },
    egressAllow: [],
    sandboxProviders: {
      names: ["bubblewrap"],
      dockerSocket: "/var/run/docker.sock",
      gvisorRuntime: "runsc",
    },
    sandboxNetwork: "environment",
    sandboxLife: {
      idleMs: 1_800_000,
      checkpointBytesMax: 4096 * 1024 * 1024,
      cacheBytesMax: 20_480 * 1024 * 1024,
      sparesMax: 0,
    },
    sandboxBase: { type: "host" },
    packageRegistries: {},
    sandboxLimits: {
      memoryBytes: 4096 * 1024 * 1024,
      diskBytes: 10_240 * 1024 * 1024,
      processes: 512,
      openFiles: 4096,
      enforce: "where_possible",
    },
    port: 8420,
    logLevel: "info",
    model: MODEL_DEFAULTS,
    test: { coupled: false, unsafe: [] },
  });
});

test("an unknown name is refused by name, with the one that was probably meant", () => {
  expect(() => loadConfig({ DROVER_PROT: "1" })).toThrow(
    new ConfigError(
      "DROVER_PROT in the environment is not a setting of Drover. Did you mean DROVER_PORT?",
    ),
  );
});

test.each([
  ["DROVER_PORT", "65536"],
  ["DROVER_PORT", "http"],
  ["DROVER_LOG_LEVEL", "loud"],
  ["DROVER_API_KEY", "short"],
  ["DROVER_MODEL_BASE_URL", "ftp://example.com"],
  ["DROVER_TEST_FAIL_POINT", "somewhere"],
  ["DROVER_TEST_UNSAFE", "fence,everything"],
  ["DROVER_SANDBOX_PROVIDER", "podman"],
  ["DROVER_SANDBOX_PROVIDER", ","],
  ["DROVER_SANDBOX_PROVIDER", "docker,docker"],
  ["DROVER_DOCKER_SOCKET", "docker.sock"],
  ["DROVER_DOCKER_IMAGE", "--privileged"],
  ["DROVER_EGRESS_ALLOW", "10.0.0.0/33"],
  ["DROVER_EGRESS_ALLOW", "127.0.0.1,http://mcp.internal"],
  ["DROVER_EGRESS_ALLOW", "mcp.internal:8080"],
  ["DROVER_EGRESS_ALLOW", "127.1"],
])("%s=%s is refused with a sentence that names the setting", (name, value) => {
  expect(() => loadConfig({ [name]: value })).toThrow(new RegExp(`^${name} is not usable: `));
});

test("what may be dialled is taken apart, whatever the setting is written in", () => {
  const allow = "127.0.0.1, 10.0.0.0/8,::1,mcp.internal";
  expect(loadConfig({ DROVER_EGRESS_ALLOW: allow }).egressAllow).toEqual([
    "127.0.0.1",
    "10.0.0.0/8",
    "::1",
    "mcp.internal",
  ]);
});

test.each([
  [{ DROVER_SEARCH_PROVIDER: "brave" }, "DROVER_SEARCH_API_KEY is needed"],
  [{ DROVER_SEARCH_PROVIDER: "tavily", DROVER_SEARCH_URL: "http://t" }, "DROVER_SEARCH_API_KEY is"],
  [{ DROVER_SEARCH_PROVIDER: "searxng" }, "DROVER_SEARCH_URL is needed"],
  [{ DROVER_SEARCH_URL: "http://127.0.0.1:8888" }, "DROVER_SEARCH_PROVIDER is missing"],
  [{ DROVER_SEARCH_API_KEY: "canary-key" }, "DROVER_SEARCH_PROVIDER is missing"],
  [{ DROVER_SEARCH_PROVIDER: "altavista" }, "DROVER_SEARCH_PROVIDER is not usable"],
  [
    { DROVER_SEARCH_PROVIDER: "searxng", DROVER_SEARCH_URL: "file:///" },
    "DROVER_SEARCH_URL is not",
  ],
])("half of the settings of a search is refused: %j", (settings, sentence) => {
  expect(() => loadConfig(settings)).toThrow(new RegExp(`^${sentence}`));
});

test("a search provider has its own address unless another is set, and its key cannot be printed", () => {
  const key = { DROVER_SEARCH_API_KEY: "canary-key" };
  const urlOf = (settings: Record<string, string>) => loadConfig(settings).search?.url;
  expect(urlOf({ DROVER_SEARCH_PROVIDER: "brave", ...key })).toMatch(/^https:.*brave/);
  expect(urlOf({ DROVER_SEARCH_PROVIDER: "tavily", ...key })).toMatch(/^https:.*tavily/);
  const own = { DROVER_SEARCH_PROVIDER: "brave", DROVER_SEARCH_URL: "http://proxy.internal/x" };
  expect(urlOf({ ...own, ...key })).toBe("http://proxy.internal/x");
  const config = loadConfig({ ...own, ...key });
  expect(config.search?.key?.reveal()).toBe("canary-key");
  expect(inspect(config, { depth: 9 }) + JSON.stringify(config)).not.toContain("canary");
});

test("encryption keys are taken apart, and none of them can be printed", () => {
  const { encryptionKeys, ...rest } = loadConfig({ DROVER_ENCRYPTION_KEY: "new-key, old-key" });
  expect(encryptionKeys?.map((key) => key.reveal())).toEqual(["new-key", "old-key"]);
  expect(inspect({ encryptionKeys, rest }, { depth: 9 })).not.toContain("-key");
});

test("the URL of a PostgreSQL database is taken, and its password is shown nowhere", () => {
  const url = "postgres://drover:pass-word@db.example:5432/drover";
  const config = loadConfig({ DROVER_DATABASE: url });
  expect(config.postgresUrl?.reveal()).toBe(url);
  expect(inspect(config, { depth: 9 })).not.toContain("pass-word");
  for (const wrong of ["postgres://u:pass-word@host", "mysql://u:pass-word@host/d", "pass-word"]) {
    const refusal = () => loadConfig({ DROVER_DATABASE: wrong });
    expect(refusal).toThrow(/^DROVER_DATABASE is not usable: /);
    expect(refusal).not.toThrow("pass-word");
  }
});

test("models are listed in the file, or as JSON, with their defaults", () => {
  const path = yamlFile(
    "models: [{ id: claude-haiku-4-5-20251001, aliases: [haiku], fast: true }]",
  );
  const { models } = loadConfig({ DROVER_CONFIG: path }).model;
  expect(models).toEqual([
    {
      aliases: ["haiku"],
      hasFastMode: true,
      info: {
        id: "claude-haiku-4-5-20251001",
        type: "model",
        display_name: "claude-haiku-4-5-20251001",
        created_at: "1970-01-01T00:00:00Z",
        line: null,
        lifecycle: "active",
        deprecated_at: null,
        retires_at: null,
        max_input_tokens: null,
        max_tokens: null,
        allowed_fallback_models: null,
        capabilities: null,
      },
    },
  ]);
  const json = '[{"id":"old","lifecycle":"retired","deprecated_at":"2026-01-02"}]';
  expect(loadConfig({ DROVER_MODELS: json }).model.models[0]?.info).toMatchObject({
    lifecycle: "retired",
    deprecated_at: "2026-01-02T00:00:00.000Z",
  });
});

test.each([
  ["no list", "claude", "invalid input"],
  ["an unknown stage", '[{"id":"a","lifecycle":"new"}]', "0.lifecycle: "],
  ["one name twice", '[{"id":"a"},{"id":"b","aliases":["a"]}]', "an id or alias is there twice"],
])("models with %s are refused by place", (_, value, problem) => {
  expect(() => loadConfig({ DROVER_MODELS: value })).toThrow(
    new RegExp(`^DROVER_MODELS is not usable: ${problem}`, "i"),
  );
});

test("the file gives settings under their short names, and the environment wins", () => {
  const path = yamlFile("port: 9000\nlog_level: debug\nmodel_api_key: from-the-file\n");
  const config = loadConfig({ DROVER_CONFIG: path, DROVER_PORT: "9001" });
  expect(config).toMatchObject({ port: 9001, logLevel: "debug" });
  expect(config.model.apiKey?.reveal()).toBe("from-the-file");
});

test.each([
  ["prot: 1", /^prot in the configuration file .* Did you mean port\?$/],
  ["- a\n- b", /must hold names and values/],
  ["a: [", /cannot be read/],
])("the file %j is refused", (text, message) => {
  expect(() => loadConfig({ DROVER_CONFIG: yamlFile(text) })).toThrow(message);
});

test("no key is shown by printing the configuration", () => {
  const config = loadConfig({
    DROVER_API_KEY: "canary-one-long-enough",
    DROVER_MODEL_API_KEY: "canary-two",
  });
  expect(
    `${inspect(config, { depth: 9, showHidden: true })} ${JSON.stringify(config)}`,
  ).not.toContain("canary");
  expect(config.apiKey?.reveal()).toBe("canary-one-long-enough");
});

test("the usual variables of Anthropic's clients are the fall-back, in pairs", () => {
  const usual = { ANTHROPIC_BASE_URL: "https://api.example.com", ANTHROPIC_API_KEY: "theirs" };
  const all = loadConfig(usual);
  expect([all.model.baseUrl, all.model.apiKey?.reveal()]).toEqual([
    "https://api.example.com",
    "theirs",
  ]);
  const own = loadConfig({ ...usual, DROVER_MODEL_BASE_URL: "http://other.example.com" });
  expect(own.model).toEqual({ ...MODEL_DEFAULTS, baseUrl: "http://other.example.com" });
});

test.each(["http://127.0.0.1:8420", "http://localhost:8420/v1", "http://[::1]:8420"])(
  "the base URL %s, which is the server itself, is refused",
  (url) => {
    expect(() => loadConfig({ DROVER_MODEL_BASE_URL: url })).toThrow("is this server itself");
    expect(() => loadConfig({ ANTHROPIC_BASE_URL: url })).toThrow("is this server itself");
  },
);

test("a server that takes any port can be checked once it has one", () => {
  const config = loadConfig({ DROVER_PORT: "0", DROVER_MODEL_BASE_URL: "http://127.0.0.1:4000" });
  refuseOwnAddress(config, 4001);
  expect(() => refuseOwnAddress(config, 4000)).toThrow("is this server itself");
});

function yamlFile(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "drover-config-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "drover.yaml");
  writeFileSync(path, text);
  return path;
}
