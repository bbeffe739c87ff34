import { answer, startMessagesApi } from "@drover/testing";
import { expect, onTestFinished, test } from "vitest";
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

test("a server of one's own needs no key", async () => {
  const api = await startMessagesApi({ script: [answer("hi")], apiKey: "none" });
  onTestFinished(() => api.close());
  expect(responseOf(await ask({ baseUrl: api.url }, "claude-haiku-4-5")).blocks).toMatchObject([
    { text: "hi" },
  ]);
});

function ask(config: ModelsConfig, model: string) {
  const request: ModelRequest = {
    model,
    system: [],
    messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
    tools: [],
    max_tokens: 100,
  };
  return new Models(config).respond(request, QUIET, new AbortController().signal);
}
