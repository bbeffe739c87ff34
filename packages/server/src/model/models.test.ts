import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { answer, failing, startChatCompletions, startMessagesApi } from "@drover/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { loadConfig } from "../config.ts";
import { responseOf } from "../core/ports/model.testsuite.ts";
import type { ModelObserver, ModelRequest } from "../core/ports/model.ts";
import { Secret } from "../lib/secret.ts";
import { Models, type ModelsConfig, offeredModels } from "./models.ts";

const QUIET: ModelObserver = { blockStarted: () => undefined, textDelta: () => undefined };

test("models that need no API are there without one, and are listed", async () => {
  const offered = offeredModels({});
  expect(offered.map(({ info }) => info.id)).toEqual(["offline/script", "offline/echo"]);
  for (const id of offered.flatMap(({ info, aliases }) => [info.id, ...aliases])) {
    expect(responseOf(await ask({}, id)).blocks).toMatchObject([{ type: "text" }]);
  }
});

test("a model whose API is not set up fails with what to set", async () => {
  expect(await ask({}, "claude-opus-5-5")).toEqual({
    type: "failure",
    kind: "request_failed",
    retryable: false,
    message: expect.stringMatching(/claude-opus-5-5.*DROVER_MODEL_API_KEY.*DROVER_MODEL_BASE_URL/),
  });
});

test("every other model is asked for at the API, under the name it has there", async () => {
  const api = await startMessagesApi({ script: [answer("hi")] });
  onTestFinished(() => api.close());
  const config = {
    baseUrl: api.url,
    apiKey: new Secret(api.apiKey),
    models: loadConfig({ DROVER_MODELS: '[{"id":"claude-haiku-4-5","aliases":["my-model"]}]' })
      .model.models,
  };
  await ask(config, "my-model");
  await ask(config, "claude-sonnet-4-6");
  expect(api.requests.map(({ body }) => body["model"])).toEqual([
    "claude-haiku-4-5",
    "claude-sonnet-4-6",
  ]);
  expect(api.refusals).toEqual([]);
});

test("what the clients find in the environment goes to no provider", async () => {
  const canaries = "X-Leak: canary\nAuthorization: Bearer canary\nX-Api-Key: canary";
  vi.stubEnv("OPENAI_CUSTOM_HEADERS", canaries);
  vi.stubEnv("ANTHROPIC_CUSTOM_HEADERS", canaries);
  for (const name of ["ADMIN_KEY", "API_KEY", "ORG_ID", "PROJECT_ID"]) {
    vi.stubEnv(`OPENAI_${name}`, "canary");
  }
  const api = await startMessagesApi({ script: [answer("hi")] });
  const local = await startChatCompletions({ script: [answer("hi")] });
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await local.close();
    await api.close();
  });
  const config = {
    baseUrl: api.url,
    apiKey: new Secret(api.apiKey),
    providers: [
      {
        name: "local",
        kind: "chat_completions" as const,
        baseUrl: local.url,
        apiKey: new Secret(local.apiKey),
        headers: {},
        leaveOut: [],
        maxTokensField: "max_tokens" as const,
      },
    ],
    models: loadConfig({ DROVER_MODELS: '[{"id":"large"}]' }).model.models.map((model) => ({
      ...model,
      provider: "local",
    })),
  };
  for (const id of ["claude-opus-5-5", "large"]) responseOf(await ask(config, id));
  const sent = [...api.requests, ...local.requests].map(({ headers }) => headers);
  expect(sent).toHaveLength(2);
  expect(JSON.stringify(sent)).not.toContain("canary");
});

test("a server of one's own needs no key", async () => {
  const api = await startMessagesApi({ script: [answer("hi")], apiKey: "none" });
  onTestFinished(() => api.close());
  expect(responseOf(await ask({ baseUrl: api.url }, "claude-haiku-4-5")).blocks).toMatchObject([
    { text: "hi" },
  ]);
});

test("a model of a provider is asked for there, by its name and within its limit", async () => {
  const local = await startChatCompletions({ script: [answer("from the local one")] });
  const api = await startMessagesApi({ script: [answer("from the team's")], apiKey: "team-key" });
  onTestFinished(async () => {
    await local.close();
    await api.close();
  });
  const settings = [
    "providers:",
    `  - { name: local, kind: chat_completions, base_url: "${local.url}", api_key: { env: KEY } }`,
    `  - { name: team, kind: messages, base_url: "${api.url}", api_key: { env: TEAM_KEY } }`,
    "models:",
    "  - { id: ours, provider: local, model: 'small:8b', aliases: [our-alias], max_tokens: 50 }",
    "  - { id: theirs, provider: team, model: claude-opus-5-5, parameters: { service_tier: auto } }",
  ];
  const { model } = loadConfig({
    DROVER_MODELS_FILE: modelsFile(settings.join("\n")),
    KEY: local.apiKey,
    TEAM_KEY: api.apiKey,
  });
  for (const id of ["ours", "our-alias"]) {
    expect(responseOf(await ask(model, id)).blocks).toMatchObject([{ text: "from the local one" }]);
  }
  expect(responseOf(await ask(model, "theirs")).blocks).toMatchObject([
    { text: "from the team's" },
  ]);
  expect(local.requests[0]?.body).toMatchObject({ model: "small:8b", max_tokens: 50 });
  expect(api.requests[0]?.body).toMatchObject({
    model: "claude-opus-5-5",
    max_tokens: 100,
    service_tier: "auto",
  });
  expect([...local.refusals, ...api.refusals]).toEqual([]);
  expect(await ask(model, "nobody's")).toMatchObject({ kind: "request_failed", retryable: false });
});

test("a provider may be silent for as long as the file says, and no longer", async () => {
  const silent = await startChatCompletions({ script: [failing({ type: "silent" })] });
  onTestFinished(() => silent.close());
  const file = modelsFile(
    `providers: [{ name: slow, kind: chat_completions, base_url: "${silent.url}", api_key: { env: KEY }, silence_ms: 100 }]
models: [{ id: large, provider: slow }]`,
  );
  const { model } = loadConfig({ DROVER_MODELS_FILE: file, KEY: silent.apiKey });
  expect(await ask({ ...model, limits: { silenceMs: 60_000 } }, "large")).toMatchObject({
    kind: "connection",
    message: "The model was silent for 100 ms.",
  });
});

test("thinking that nobody signed is not sent to an API that checks signatures", async () => {
  const api = await startMessagesApi({ script: [answer("hi")] });
  onTestFinished(() => api.close());
  const unsigned = { type: "thinking", thinking: "hm", signature: "unsigned" };
  const said = { type: "text", text: "Hm." };
  const request = {
    ...requestOf("claude-opus-5-5"),
    messages: [
      ...requestOf("").messages,
      { role: "assistant" as const, content: [unsigned, said] },
      ...requestOf("").messages,
    ],
  };
  const models = new Models({ baseUrl: api.url, apiKey: new Secret(api.apiKey) });
  await models.respond(request, QUIET, new AbortController().signal);
  expect(api.requests[0]?.body).toMatchObject({ messages: [{}, { content: [said] }, {}] });
  expect(api.refusals).toEqual([]);
});

test("an entry for a model that ships changes its prices and limits alone", () => {
  const [shipped] = offeredModels({});
  const { models } = loadConfig({
    DROVER_MODELS: JSON.stringify([
      { id: "offline/script", max_input_tokens: 5_000, prices: { input: 2, output: "0.5" } },
    ]),
  }).model;
  const [changed, ...rest] = offeredModels({ models });
  expect(changed).toMatchObject({
    aliases: ["offline"],
    prices: { input: 2_000_000, output: 500_000, cache_read: 2_000_000 },
    info: { ...shipped?.info, max_input_tokens: 5_000 },
  });
  expect(rest.map(({ info }) => info.id)).toEqual(["offline/echo"]);
  expect(shipped?.prices).toMatchObject({ input: 1_000_000, output: 5_000_000 });
});

function modelsFile(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "drover-models-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "models.yaml");
  writeFileSync(path, text);
  return path;
}

function ask(config: ModelsConfig, model: string) {
  return new Models(config).respond(requestOf(model), QUIET, new AbortController().signal);
}

function requestOf(model: string): ModelRequest {
  return {
    model,
    system: [],
    messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
    tools: [],
    max_tokens: 100,
  };
}
