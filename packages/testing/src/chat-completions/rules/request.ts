import { field, isList, isObject, listOf } from "../../messages-api/rules/shape.ts";
import { estimateTokens } from "../../messages-api/tokens.ts";
import { type ChatRule, REFERENCE, SDK } from "./rule.ts";

const BODY_BYTES_MAX = 32 * 1024 * 1024;
const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
/** Those of the reference that a harness may have a reason to send. */
const FIELDS = [
  "frequency_penalty",
  "logit_bias",
  "max_completion_tokens",
  "max_tokens",
  "messages",
  "metadata",
  "min_p",
  "model",
  "parallel_tool_calls",
  "presence_penalty",
  "provider",
  "reasoning_effort",
  "response_format",
  "seed",
  "stop",
  "stream",
  "stream_options",
  "temperature",
  "tool_choice",
  "tools",
  "top_k",
  "top_p",
  "user",
];

/** What is refused before the messages are looked at. */
export const REQUEST_RULES: readonly ChatRule[] = [
  {
    id: "auth-missing",
    source: "https://platform.openai.com/docs/api-reference/authentication",
    description: "A request has a bearer token.",
    status: 401,
    check: ({ headers }) =>
      headers.authorization === undefined ? "You didn't provide an API key." : undefined,
  },
  {
    id: "auth-invalid",
    source: "https://platform.openai.com/docs/guides/error-codes",
    description: "The key is one the server knows.",
    status: 401,
    code: "invalid_api_key",
    check: ({ headers, apiKey }) =>
      headers.authorization === `Bearer ${apiKey}` ? undefined : "Incorrect API key provided.",
  },
  {
    id: "content-type",
    source: "https://platform.openai.com/docs/api-reference/introduction",
    description: "The body says that it is JSON.",
    check: ({ headers }) =>
      headers["content-type"]?.startsWith("application/json")
        ? undefined
        : "Unsupported content type: this API method only accepts 'application/json' requests.",
  },
  {
    id: "body-too-large",
    source: "stricter than documented: no harness has a reason to send more",
    description: "A request is at most 32 MB.",
    status: 413,
    check: ({ rawBytes }) =>
      rawBytes > BODY_BYTES_MAX ? "The request body is too large." : undefined,
  },
  {
    id: "body-json",
    source: "https://platform.openai.com/docs/guides/error-codes",
    description: "The body is JSON.",
    check: ({ parseError }) =>
      parseError === undefined ? undefined : `We could not parse the JSON body: ${parseError}`,
  },
  {
    id: "body-object",
    source: REFERENCE,
    description: "The body is an object.",
    check: ({ body }) => (isObject(body) ? undefined : "The body is not an object."),
  },
  {
    id: "field-unknown",
    source: "https://github.com/open-webui/open-webui/issues/14520",
    description: "Every field of the request is one that the server knows.",
    check: ({ body }) => {
      const unknown = Object.keys(isObject(body) ? body : {}).find((it) => !FIELDS.includes(it));
      return unknown === undefined
        ? undefined
        : `Unrecognized request argument supplied: ${unknown}`;
    },
  },
  {
    id: "field-unsupported",
    source: "flavours.ts: what a server of this kind was seen to refuse",
    description: "No field is one that this server does not take.",
    check: ({ body, refuses }) => {
      const refused = refuses.find((name) => field(body, name) !== undefined);
      return refused === undefined
        ? undefined
        : `Unsupported parameter: '${refused}' is not supported with this model.`;
    },
  },
  {
    id: "model-unknown",
    source: "https://platform.openai.com/docs/guides/error-codes",
    description: "The model is one that the server has.",
    status: 404,
    code: "model_not_found",
    check: ({ body, model }) =>
      model === undefined
        ? `The model '${String(field(body, "model"))}' does not exist or you do not have access to it.`
        : undefined,
  },
  {
    id: "stream-options",
    source: `${REFERENCE}#chat_create-stream_options`,
    description: "stream_options are given only with stream.",
    check: ({ body }) =>
      field(body, "stream_options") !== undefined && field(body, "stream") !== true
        ? "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        : undefined,
  },
  {
    id: "max-tokens",
    source: `${REFERENCE}#chat_create-max_tokens`,
    description: "The limit is a positive integer that the model has room for.",
    check: ({ body, model }) => {
      const given = field(body, "max_tokens") ?? field(body, "max_completion_tokens");
      if (given === undefined || model === undefined) return undefined;
      const isFit =
        Number.isInteger(given) && Number(given) >= 1 && Number(given) <= model.maxTokens;
      if (isFit) return undefined;
      return `max_tokens is too large: ${JSON.stringify(given)}. This model supports at most ${model.maxTokens} completion tokens.`;
    },
  },
  {
    id: "max-tokens-twice",
    source: `${REFERENCE}#chat_create-max_completion_tokens`,
    description: "The limit is named once.",
    check: ({ body }) =>
      field(body, "max_tokens") !== undefined && field(body, "max_completion_tokens") !== undefined
        ? "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
        : undefined,
  },
  {
    id: "effort",
    source: `${SDK} reasoning_effort`,
    description: "The effort is a level that the model knows.",
    check: ({ body, model }) => {
      const effort = field(body, "reasoning_effort");
      if (effort === undefined || model === undefined) return undefined;
      if (!EFFORTS.includes(String(effort))) return `Invalid value: '${String(effort)}'.`;
      return model.efforts.includes(String(effort))
        ? undefined
        : `Unsupported value: 'reasoning_effort' does not support '${String(effort)}' with this model.`;
    },
  },
  {
    id: "parallel-without-tools",
    source: "https://github.com/openai/swarm/issues/30",
    description: "parallel_tool_calls is given only with tools.",
    check: ({ body }) =>
      field(body, "parallel_tool_calls") !== undefined && field(body, "tools") === undefined
        ? "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified."
        : undefined,
  },
  {
    id: "messages-empty",
    source: REFERENCE,
    description: "There is at least one message.",
    check: ({ body }) => {
      const messages = field(body, "messages");
      return isList(messages) && messages.length > 0
        ? undefined
        : "Invalid 'messages': empty array. Expected an array with minimum length 1.";
    },
  },
];

/** Looked at last: only what is right in itself can be too much. */
export const WINDOW_RULES: readonly ChatRule[] = [
  {
    id: "context-length",
    source: "https://platform.openai.com/docs/guides/error-codes",
    description: "Prompt and answer fit into the model's context.",
    code: "context_length_exceeded",
    check: ({ body, model }) => {
      if (!isObject(body) || model === undefined) return undefined;
      const tokens = estimateTokens({ ...body, messages: listOf(body["messages"]) });
      return tokens <= model.contextTokens
        ? undefined
        : `This model's maximum context length is ${model.contextTokens} tokens. However, your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`;
    },
  },
];
