import { estimateTokens } from "../tokens.ts";
import type { Json } from "../types.ts";
import { DOCS, type Rule, type RuleInput, SDK } from "./rule.ts";
import { field, firstOf, isList, isObject, listOf, objectOf, oneOf } from "./shape.ts";

const FIELDS = [
  "cache_control",
  "container",
  "diagnostics",
  "inference_geo",
  "max_tokens",
  "messages",
  "metadata",
  "model",
  "output_config",
  "service_tier",
  "speed",
  "stop_sequences",
  "stream",
  "system",
  "temperature",
  "thinking",
  "tool_choice",
  "tools",
  "top_k",
  "top_p",
];
const SAMPLING = ["temperature", "top_p", "top_k"];
const MAX_MESSAGES = 100_000;
const MAX_USER_ID_CHARS = 512;
const FAST_MODE_BETA = "fast-mode-2026-02-01";

/** Top-level fields. */
export const REQUEST_RULES: readonly Rule[] = [
  {
    id: "field-unknown",
    source: `${DOCS}/api/messages/create`,
    description: "A top-level field the API does not know is refused.",
    check: ({ body }) => {
      const unknown = Object.keys(objectOf(body)).find((name) => !FIELDS.includes(name));
      return unknown === undefined ? undefined : `${unknown}: Extra inputs are not permitted`;
    },
  },
  required("model", (value) => (typeof value === "string" ? undefined : "a valid string")),
  {
    id: "model-unknown",
    source: `${DOCS}/api/errors#http-errors`,
    description: "The model exists.",
    status: 404,
    check: ({ body, model }) =>
      model === undefined ? `model: ${String(field(body, "model"))}` : undefined,
  },
  required("max_tokens", (value) => (isCount(value) ? undefined : "a valid integer")),
  {
    id: "max-tokens-range",
    source: `${SDK} MessageCreateParamsBase.max_tokens; ${DOCS}/about-claude/models/overview`,
    description: "max_tokens is at most the model's maximum output.",
    check: ({ body, model }) => {
      const asked = field(body, "max_tokens");
      if (model === undefined || typeof asked !== "number" || asked <= model.max_tokens) {
        return undefined;
      }
      return `max_tokens: ${asked} > ${model.max_tokens}, which is the maximum allowed number of output tokens for ${model.id}`;
    },
  },
  required("messages", (value) => (isList(value) ? undefined : "a valid list")),
  {
    id: "messages-empty",
    source: `${SDK} MessageCreateParamsBase.messages`,
    description: "There is at least one message.",
    check: ({ body }) =>
      listOf(field(body, "messages")).length === 0
        ? "messages: at least one message is required"
        : undefined,
  },
  {
    id: "messages-count",
    source: `${SDK} MessageCreateParamsBase.messages`,
    description: "There are at most 100,000 messages.",
    check: ({ body }) =>
      listOf(field(body, "messages")).length > MAX_MESSAGES
        ? `messages: List should have at most ${MAX_MESSAGES} items`
        : undefined,
  },
  optional("stream", SDK, (value) => (typeof value === "boolean" ? undefined : "a valid boolean")),
  optional("service_tier", SDK, among(["auto", "standard_only"])),
  optional("speed", `${DOCS}/build-with-claude/fast-mode`, among(["standard", "fast"])),
  {
    id: "speed-beta",
    source: `${SDK} MessageCreateParamsBase.speed`,
    description: "A model that wants the fast-mode beta header for speed gets it.",
    check: ({ body, headers }) =>
      field(body, "speed") != null && !String(headers["anthropic-beta"]).includes(FAST_MODE_BETA)
        ? "speed: Extra inputs are not permitted"
        : undefined,
  },
  {
    id: "metadata",
    source: `${SDK} Metadata`,
    description: "metadata holds user_id and nothing else.",
    check: ({ body }) => checkMetadata(field(body, "metadata")),
  },
  {
    id: "stop-sequences",
    source: `${SDK} MessageCreateParamsBase.stop_sequences`,
    description: "stop_sequences is a list of strings that are not blank.",
    check: ({ body }) => checkStopSequences(field(body, "stop_sequences")),
  },
  {
    id: "effort",
    source: `${DOCS}/build-with-claude/effort`,
    description: "output_config.effort is a level the model has.",
    check: checkEffort,
  },
  {
    id: "output-config-unknown",
    source: `${SDK} OutputConfig`,
    description: "output_config holds effort and format and nothing else.",
    check: ({ body }) => {
      const names = Object.keys(objectOf(field(body, "output_config")));
      const unknown = names.find((name) => name !== "effort" && name !== "format");
      return unknown === undefined
        ? undefined
        : `output_config.${unknown}: Extra inputs are not permitted`;
    },
  },
  {
    id: "sampling-removed",
    source: `${DOCS}/api/migration-2026-10-21`,
    description: "Since API version 2026-10-21 there are no sampling parameters.",
    check: ({ body, headers }) => {
      const given = SAMPLING.find((name) => field(body, name) !== undefined);
      return given !== undefined && headers["anthropic-version"] === "2026-10-21"
        ? `${given}: Extra inputs are not permitted`
        : undefined;
    },
  },
  {
    id: "sampling-range",
    source: `${DOCS}/api/messages/create`,
    description: "temperature and top_p are between 0 and 1, top_k is not negative.",
    check: ({ body }) =>
      firstOf(SAMPLING, (name) => {
        const value = field(body, name);
        if (value == null) return undefined;
        if (typeof value !== "number") return `${name}: Input should be a valid number`;
        if (value < 0) return `${name}: Input should be greater than or equal to 0`;
        return name !== "top_k" && value > 1
          ? `${name}: Input should be less than or equal to 1`
          : undefined;
      }),
  },
  {
    id: "sampling-unsupported",
    source: `${DOCS}/api/migration-2026-10-21#sampling-parameters`,
    description: "Current models take no sampling parameters.",
    check: ({ body, model }) => {
      const given = SAMPLING.find((name) => field(body, name) != null);
      return model?.sampling === false && given !== undefined
        ? `${given}: this parameter is not supported on this model`
        : undefined;
    },
  },
];

const COUNT_FIELDS = [
  "cache_control",
  "messages",
  "model",
  "output_config",
  "speed",
  "system",
  "thinking",
  "tool_choice",
  "tools",
];

/** Top-level fields of a request that only counts. */
export const COUNT_FIELD_RULES: readonly Rule[] = [
  {
    id: "count-field-unknown",
    source: `${SDK} MessageCountTokensParams`,
    description: "A field that is not for counting, such as max_tokens or stream, is refused.",
    check: ({ body }) => {
      const unknown = Object.keys(objectOf(body)).find((name) => !COUNT_FIELDS.includes(name));
      return unknown === undefined ? undefined : `${unknown}: Extra inputs are not permitted`;
    },
  },
];

/** Last of all: a request that is right in itself but does not fit the model. */
export const WINDOW_RULES: readonly Rule[] = [
  {
    id: "prompt-too-long",
    source: `${DOCS}/build-with-claude/context-windows`,
    description: "The prompt fits the model's window (about four characters a token).",
    check: (input) => {
      const { prompt, window } = sizes(input);
      return prompt > window
        ? `prompt is too long: ${prompt} tokens > ${window} maximum`
        : undefined;
    },
  },
  {
    id: "output-does-not-fit",
    source: `${DOCS}/build-with-claude/context-windows`,
    description: "The prompt and max_tokens together fit the model's window.",
    check: (input) => {
      const { prompt, window } = sizes(input);
      const output = Number(field(input.body, "max_tokens"));
      return prompt + output > window
        ? `input length and \`max_tokens\` exceed context limit: ${prompt} + ${output} > ${window}, decrease input length or \`max_tokens\` and try again`
        : undefined;
    },
  },
];

function sizes({ body, model, contextTokens }: RuleInput): { prompt: number; window: number } {
  return {
    prompt: estimateTokens(objectOf(body)),
    window: contextTokens ?? model?.max_input_tokens ?? Number.POSITIVE_INFINITY,
  };
}

type Check = (value: Json) => string | undefined;

function required(name: string, check: Check): Rule {
  return {
    id: `${name.replaceAll("_", "-")}-required`,
    source: `${SDK} MessageCreateParamsBase.${name}`,
    description: `${name} is there and of its type.`,
    check: ({ body }) => {
      const value = field(body, name);
      if (value === undefined) return `${name}: Field required`;
      const wanted = check(value);
      return wanted === undefined ? undefined : `${name}: Input should be ${wanted}`;
    },
  };
}

function optional(name: string, source: string, check: Check): Rule {
  return {
    id: name.replaceAll("_", "-"),
    source,
    description: `${name}, where given, is of its type.`,
    check: ({ body }) => {
      const value = field(body, name);
      const wanted = value == null ? undefined : check(value);
      return wanted === undefined ? undefined : `${name}: Input should be ${wanted}`;
    },
  };
}

function among(allowed: readonly string[]): Check {
  return (value) => (allowed.includes(String(value)) ? undefined : oneOf(allowed));
}

function isCount(value: Json): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= 0;
}

function checkMetadata(metadata: Json | undefined): string | undefined {
  if (metadata == null) return undefined;
  if (!isObject(metadata)) return "metadata: Input should be a valid dictionary";
  const unknown = Object.keys(metadata).find((name) => name !== "user_id");
  if (unknown !== undefined) return `metadata.${unknown}: Extra inputs are not permitted`;
  const userId = metadata["user_id"];
  if (userId == null) return undefined;
  if (typeof userId !== "string") return "metadata.user_id: Input should be a valid string";
  return userId.length > MAX_USER_ID_CHARS
    ? `metadata.user_id: String should have at most ${MAX_USER_ID_CHARS} characters`
    : undefined;
}

function checkStopSequences(value: Json | undefined): string | undefined {
  if (value == null) return undefined;
  if (!isList(value)) return "stop_sequences: Input should be a valid list";
  return firstOf(
    value.map((item, index) => ({ item, index })),
    ({ item, index }) => {
      if (typeof item !== "string")
        return `stop_sequences.${index}: Input should be a valid string`;
      return item.trim() === ""
        ? "stop_sequences: each stop sequence must contain non-whitespace"
        : undefined;
    },
  );
}

function checkEffort({ body, model }: RuleInput): string | undefined {
  const effort = field(field(body, "output_config"), "effort");
  if (effort == null || model === undefined) return undefined;
  if (model.efforts.length === 0) return "This model does not support the effort parameter.";
  return model.efforts.includes(String(effort))
    ? undefined
    : `output_config.effort: Input should be ${oneOf(model.efforts)}`;
}
