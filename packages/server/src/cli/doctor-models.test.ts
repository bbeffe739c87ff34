import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { answer, startMessagesApi } from "@drover/testing";
import { expect, onTestFinished, test } from "vitest";
import type { Config } from "../config.ts";
import { loadConfig } from "../config.ts";
import { Secret } from "../lib/secret.ts";
import { findingLine } from "./doctor-finding.ts";
import { askModels, examineModels } from "./doctor-models.ts";

test("without an API it says which settings name one", () => {
  expect(linesOf(examineModels(loadConfig({})))).toEqual([
    "note  model       only offline/* models; set DROVER_MODEL_BASE_URL, or DROVER_MODELS_FILE, for a real one",
  ]);
});

test("it names every provider without asking it, and never a key", () => {
  const config = withProvider("http://127.0.0.1:9/v1", { DROVER_MODEL_API_KEY: "canary-key" });
  expect(linesOf(examineModels(config))).toEqual([
    "ok    model       default: messages at https://api.anthropic.com, with a key; models by name: 0",
    "ok    model       local: chat_completions at http://127.0.0.1:9/v1, with a key; models by name: 2",
  ]);
});

test("asked to, it finds out who answers and which models are missing there", async () => {
  const api = await startMessagesApi({ script: [answer("hi")] });
  onTestFinished(() => api.close());
  const seen: unknown[] = [];
  const url = await listServer((headers) => {
    seen.push(headers);
    return JSON.stringify({ object: "list", data: [{ id: "small:8b" }] });
  });
  const config = withProvider(`${url}/v1`, {
    DROVER_MODEL_BASE_URL: api.url,
    DROVER_MODEL_API_KEY: api.apiKey,
  });
  expect(linesOf(await askModels(config))).toEqual([
    "ok    model       default: answers, and lists 3",
    "note  model       local: answers, and does not list large",
  ]);
  expect(seen).toMatchObject([{ authorization: "Bearer canary-key", "x-team": "a" }]);
  expect(api.requests).toEqual([]);
});

test("who does not answer, or no list, is said in a sentence", async () => {
  const garbage = await listServer(() => "<html>");
  const [first] = await askModels(withProvider(garbage));
  expect(first?.text).toMatch(/^local: http.*\/models does not answer: .*JSON/);
  const [second] = await askModels(withProvider("http://127.0.0.1:9/v1"));
  expect(second).toMatchObject({ verdict: "limit", text: expect.stringContaining("not answer") });
});

function withProvider(baseUrl: string, env: Readonly<Record<string, string>> = {}): Config {
  const config = loadConfig({ DROVER_MODELS: '[{"id":"small:8b"},{"id":"large"}]', ...env });
  const models = config.model.models.map((model) => ({ ...model, provider: "local" }));
  const provider = {
    name: "local",
    kind: "chat_completions" as const,
    baseUrl,
    apiKey: new Secret("canary-key"),
    headers: { "X-Team": new Secret("a") },
    leaveOut: [],
    maxTokensField: "max_tokens" as const,
  };
  return { ...config, model: { ...config.model, models, providers: [provider] } };
}

async function listServer(answering: (headers: object) => string): Promise<string> {
  const server = createServer((request, response) => response.end(answering(request.headers)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function linesOf(findings: readonly Parameters<typeof findingLine>[0][]) {
  return findings.map(findingLine);
}
