import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { loadConfig, refuseOwnAddress } from "./config.ts";

const FILE = `
providers:
  - name: ollama
    kind: chat_completions
    base_url: http://127.0.0.1:11434/v1
  - name: router
    kind: chat_completions
    base_url: https://openrouter.example/api/v1
    api_key: { env: ROUTER_KEY }
    headers: { X-Title: Drover, X-Team: { file: team.txt } }
    leave_out: [stream_options]
    max_tokens_field: max_completion_tokens
    send_reasoning_as: reasoning
models:
  - id: small
    provider: ollama
    model: qwen3:8b
    max_tokens: 4096
    parameters: { temperature: 0.2 }
  - id: large
    provider: router
    aliases: [best]
    prices: { input: "1.5", output: 7, cache_read: "0.15", fast_multiplier: "2.5" }
    can: { images: true, parallel_tools: false, effort: [high, low] }
`;

test("a file names providers and models, and holds no key", () => {
  const path = modelsFile(FILE, { "team.txt": "team-secret\n" });
  const { providers, models } = loadConfig({
    DROVER_MODELS_FILE: path,
    DROVER_MODELS: '[{"id":"inline","provider":"ollama"},{"id":"claude"}]',
    ROUTER_KEY: " sk-router-secret ",
  }).model;
  expect(providers).toMatchObject([
    { name: "ollama", leaveOut: [], maxTokensField: "max_tokens", headers: {} },
    {
      name: "router",
      kind: "chat_completions",
      leaveOut: ["stream_options"],
      maxTokensField: "max_completion_tokens",
      sendReasoningAs: "reasoning",
    },
  ]);
  expect(providers[0]).not.toHaveProperty("apiKey");
  expect(providers[1]?.apiKey?.reveal()).toBe("sk-router-secret");
  expect(providers[1]?.headers["X-Team"]?.reveal()).toBe("team-secret");
  expect(inspect(providers, { depth: 9 })).not.toContain("secret");
  expect(models.map(({ info, provider }) => [info.id, provider])).toEqual([
    ["small", "ollama"],
    ["large", "router"],
    ["inline", "ollama"],
    ["claude", undefined],
  ]);
  expect(models[0]).toMatchObject({
    upstreamId: "qwen3:8b",
    parameters: { temperature: 0.2 },
    info: { max_tokens: 4096, capabilities: null },
    abilities: { images: false, pdf: false, parallelTools: true, efforts: [] },
  });
  expect(models[1]).toMatchObject({
    aliases: ["best"],
    abilities: { images: true, pdf: false, parallelTools: false, efforts: ["low", "high"] },
    info: { capabilities: { image_input: { supported: true }, pdf_input: { supported: false } } },
  });
  expect(models[3]).not.toHaveProperty("abilities");
});

test("prices are whole picodollars a token, and what is left out of caching costs as input", () => {
  const path = modelsFile(FILE, { "team.txt": "x" });
  const { models } = loadConfig({ DROVER_MODELS_FILE: path, ROUTER_KEY: "key" }).model;
  const standard = {
    input: 1_500_000,
    output: 7_000_000,
    cache_read: 150_000,
    cache_write_5m: 1_500_000,
    cache_write_1h: 1_500_000,
  };
  const fast = {
    input: 3_750_000,
    output: 17_500_000,
    cache_read: 375_000,
    cache_write_5m: 3_750_000,
    cache_write_1h: 3_750_000,
  };
  expect(models[1]?.prices).toEqual({ ...standard, fast });
  expect(models[0]).not.toHaveProperty("prices");
});

test("a file may be JSON, or empty", () => {
  const json = modelsFile('{"models":[{"id":"a"}]}');
  expect(loadConfig({ DROVER_MODELS_FILE: json }).model.models[0]?.info.id).toBe("a");
  expect(loadConfig({ DROVER_MODELS_FILE: modelsFile("") }).model.models).toEqual([]);
});

const PROVIDER = "providers: [{ name: p, kind: messages, base_url: 'http://x.example' }]\n";

test.each([
  ["a key that is not known", "models:\n  - id: a\n    modle: b", "line 3: models.0.modle: is not"],
  ["no YAML", "models:\n  - [", "line 2: "],
  ["a list", "- a", "the file: "],
  [
    "a provider that there is not",
    `${PROVIDER}models:\n  - id: a\n    provider: q`,
    "line 4: models.0.provider: there is no provider q; did you mean p?",
  ],
  [
    "a kind that there is not",
    "providers:\n  - name: p\n    kind: x",
    "line 3: providers.0.kind: ",
  ],
  [
    "a key in the file",
    "providers:\n  - { name: p, kind: messages, base_url: 'http://x.example', api_key: canary }",
    "line 2: providers.0.api_key: must be { env: NAME }",
  ],
  [
    "a password in a URL",
    "providers: [{ name: p, kind: messages, base_url: 'http://u:canary@x.example' }]",
    "line 1: providers.0.base_url: must have no user, password",
  ],
  [
    "a setting of another kind",
    `${PROVIDER.replace(" }]", ", leave_out: [max_tokens] }]")}`,
    "line 1: providers.0.leave_out: is not known here",
  ],
  [
    "a header of the client's",
    `${PROVIDER.replace(" }]", ", headers: { Authorization: x } }]")}`,
    "is set by Drover itself; a key goes into api_key",
  ],
  ["a reserved name", PROVIDER.replace("name: p", "name: default"), "is a reserved name"],
  [
    "two providers of one name",
    PROVIDER.replace("]", ", { name: p, kind: messages, base_url: 'http://y.example' }]"),
    "line 1: providers.1.name: there are two providers p",
  ],
  [
    "one id twice",
    "models:\n  - id: a\n  - { id: b, aliases: [a] }",
    "line 3: models.1: the id or alias a is there twice",
  ],
  [
    "a price with too many decimals",
    'models:\n  - id: a\n    prices:\n      input: "0.0000001"\n      output: "1"',
    "line 4: models.0.prices.input: must be dollars per million tokens",
  ],
  [
    "a price below nothing",
    "models: [{ id: a, prices: { input: -1, output: 1 } }]",
    "prices.input",
  ],
  ["half of the prices", "models: [{ id: a, prices: { input: 1 } }]", "models.0.prices.output"],
  [
    "a parameter of Drover's own",
    "models:\n  - id: a\n    parameters:\n      stream: false",
    "line 4: models.0.parameters.stream: is set by Drover itself",
  ],
  ["an ability that there is not", "models: [{ id: a, can: { fly: true } }]", "can.fly: is not"],
  [
    "an end of a model that is active",
    "models: [{ id: a, retires_at: 2026-12-01 }]",
    "models.0.retires_at: is for a model whose lifecycle is deprecated or retired",
  ],
  [
    "a speed that its provider does not know",
    `${PROVIDER.replace("messages", "chat_completions")}models: [{ id: a, provider: p, fast: true }]`,
    "the model a: fast: chat completions know no such speed",
  ],
  ["no room to answer", "models: [{ id: a, max_tokens: 0 }]", "models.0.max_tokens"],
])("a file with %s is refused by line and field", (_, text, problem) => {
  const path = modelsFile(text);
  const load = () => loadConfig({ DROVER_MODELS_FILE: path });
  expect(load).toThrow(`The models file ${path} is not usable: `);
  expect(load).toThrow(problem);
  expect(load).not.toThrow("canary");
});

test.each([
  [
    "{ env: NOT_SET }",
    "the api_key of the provider p: the environment variable NOT_SET is not set",
  ],
  ["{ env: TWO_LINES }", "TWO_LINES holds more than one line"],
  ["{ file: none.txt }", "the api_key of the provider p: ENOENT"],
  ["{ file: empty.txt }", "empty.txt is empty"],
])("a key at %s is refused by the name of its place", (place, problem) => {
  const text = PROVIDER.replace(" }]", `, api_key: ${place} }]`);
  const path = modelsFile(text, { "empty.txt": " \n" });
  const load = () => loadConfig({ DROVER_MODELS_FILE: path, TWO_LINES: "canary\nx" });
  expect(load).toThrow(problem);
  expect(load).not.toThrow("canary");
});

test("a file that is not there, and names given in both places, are refused", () => {
  expect(() => loadConfig({ DROVER_MODELS_FILE: "/none/models.yaml" })).toThrow("ENOENT");
  const path = modelsFile("models: [{ id: a }]");
  const load = (models: string) => () =>
    loadConfig({ DROVER_MODELS_FILE: path, DROVER_MODELS: models });
  expect(load('[{"id":"b","aliases":["a"]}]')).toThrow("the id or alias a is there twice");
  expect(load('[{"id":"b","provider":"q"}]')).toThrow("there is no provider q");
});

test("a provider that is this server itself is refused by its name", () => {
  const text = PROVIDER.replace("http://x.example", "http://localhost:4000/v1");
  const environment = { DROVER_MODELS_FILE: modelsFile(text), DROVER_PORT: "4000" };
  expect(() => loadConfig(environment)).toThrow(/model provider p is this server itself/);
  const config = loadConfig({ ...environment, DROVER_PORT: "0" });
  refuseOwnAddress(config, 4001);
  expect(() => refuseOwnAddress(config, 4000)).toThrow("is this server itself");
});

function modelsFile(text: string, others: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), "drover-models-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, content] of Object.entries({ ...others, "models.yaml": text })) {
    writeFileSync(join(folder, name), content);
  }
  return join(folder, "models.yaml");
}
