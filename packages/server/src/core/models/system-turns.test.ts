import { expect, test } from "vitest";
import type { OfferedModel } from "../ports/model.ts";
import { modelFinder } from "./offered-models.ts";
import { systemTurnsOf } from "./system-turns.ts";

const offered = (id: string, systemMessages: boolean): OfferedModel => ({
  aliases: [`${id}-alias`],
  hasFastMode: false,
  info: {
    id,
    type: "model",
    display_name: id,
    created_at: "2026-01-01T00:00:00Z",
    line: null,
    lifecycle: "active",
    deprecated_at: null,
    retires_at: null,
    max_input_tokens: null,
    max_tokens: null,
    allowed_fallback_models: null,
    capabilities: null,
  },
  abilities: {
    images: true,
    pdf: true,
    parallelTools: true,
    thinking: true,
    systemMessages,
    efforts: [],
  },
});

const find = modelFinder([
  offered("local-able", true),
  offered("local-plain", false),
  offered("claude-haiku-4-5", true),
]);

test.each([
  ["claude-opus-5-5", "turn"],
  ["claude-opus-4-8", "turn"],
  ["claude-fable-5-1", "turn"],
  ["us.anthropic.claude-mythos-5-v1:0", "turn"],
  ["claude-opus-4-7", "refused"],
  ["claude-sonnet-4-6", "refused"],
  ["claude-haiku-4-5", "refused"],
  ["claude-haiku-4-5-alias", "refused"],
  ["claude-3-haiku-20240307", "refused"],
  ["offline/script", "turn"],
  ["local-able", "turn"],
  ["local-able-alias", "turn"],
  ["local-plain", "text"],
  ["never-heard-of", "text"],
])("%s takes a system message: %s", (id, expected) => {
  expect(systemTurnsOf(id, find)).toBe(expected);
});
