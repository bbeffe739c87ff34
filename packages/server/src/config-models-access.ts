import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import {
  type ConfiguredModel,
  configuredModel,
  type ModelEntry,
  type ModelSettings,
  nameGivenTwice,
} from "./config-models.ts";
import { readModelsFile, unknownProvider } from "./config-models-file.ts";
import type { ProviderSettings, SecretPlace } from "./config-providers.ts";
import { Secret } from "./lib/secret.ts";

const SECRET_BYTES_MAX = 64 * 1024;

/** An API that runs models, with its secrets fetched. */
export interface ConfiguredProvider {
  readonly name: string;
  readonly kind: ProviderSettings["kind"];
  readonly baseUrl: string;
  readonly apiKey?: Secret;
  /** Sent with every request; a value may be a secret. */
  readonly headers: Readonly<Record<string, Secret>>;
  /** Milliseconds without a byte after which an answer is cut; as for all, unless given. */
  readonly silenceMs?: number;
  /** Parameters that a chat completions API refuses. */
  readonly leaveOut: readonly ("stream_options" | "parallel_tool_calls" | "max_tokens")[];
  readonly maxTokensField: "max_tokens" | "max_completion_tokens";
  /** The field in which its own reasoning is sent back; without one it is not. */
  readonly sendReasoningAs?: "reasoning_content" | "reasoning";
}

export interface ModelsGiven {
  readonly models: ModelSettings;
  /** Of the models file. */
  readonly path: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Throws an `Error` with a sentence that names what is wrong, and never the value of a secret. */
export function configuredModels({ models, path, env }: ModelsGiven): {
  providers: readonly ConfiguredProvider[];
  models: readonly ConfiguredModel[];
} {
  const file = path === undefined ? { providers: [], models: [] } : readModelsFile(path);
  const kinds = new Map(file.providers.map(({ name, kind }) => [name, kind]));
  const unknown = models
    .map(({ provider }) => unknownProvider(provider, [...kinds.keys()]))
    .find((problem) => problem !== undefined);
  if (unknown !== undefined) throw new Error(unknown);
  const entries = [...file.models, ...models];
  const twice = nameGivenTwice(entries);
  if (twice !== undefined) throw new Error(`the id or alias ${twice.name} is there twice`);
  const kindOf = ({ provider }: ModelEntry) => kinds.get(provider ?? "") ?? "messages";
  const fast = entries.find((entry) => entry.fast && kindOf(entry) === "chat_completions");
  if (fast !== undefined) {
    throw new Error(`the model ${fast.id}: fast: chat completions know no such speed`);
  }
  const folder = path === undefined ? "." : dirname(path);
  return {
    providers: file.providers.map((provider) => configuredProvider(provider, folder, env)),
    models: entries.map((entry) => configuredModel(entry, kindOf(entry))),
  };
}

function configuredProvider(
  provider: ProviderSettings,
  folder: string,
  env: ModelsGiven["env"],
): ConfiguredProvider {
  const { name, kind, base_url: baseUrl, api_key: key } = provider;
  const secret = (place: SecretPlace, field: string) => {
    try {
      return new Secret(secretAt(place, folder, env));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`the ${field} of the provider ${name}: ${reason}`, { cause: error });
    }
  };
  const headers = Object.entries(provider.headers).map(([header, value]) => [
    header,
    typeof value === "string" ? new Secret(value) : secret(value, `header ${header}`),
  ]);
  const isChat = provider.kind === "chat_completions";
  const sendReasoningAs = isChat ? provider.send_reasoning_as : undefined;
  return {
    name,
    kind,
    baseUrl,
    ...(key !== undefined && { apiKey: secret(key, "api_key") }),
    headers: Object.fromEntries(headers),
    ...(provider.silence_ms !== undefined && { silenceMs: provider.silence_ms }),
    leaveOut: isChat ? provider.leave_out : [],
    maxTokensField: isChat ? provider.max_tokens_field : "max_tokens",
    ...(sendReasoningAs !== undefined && { sendReasoningAs }),
  };
}

/** Without blanks around it. Relative paths begin at the models file's folder. */
function secretAt(place: SecretPlace, folder: string, env: ModelsGiven["env"]): string {
  if ("env" in place) {
    const value = env[place.env]?.trim();
    if (!value) throw new Error(`the environment variable ${place.env} is not set`);
    return oneLine(value, place.env);
  }
  const path = resolve(folder, place.file);
  const bytes = readFileSync(path);
  if (bytes.byteLength > SECRET_BYTES_MAX) throw new Error(`${path} is larger than 64 KB`);
  const value = bytes.toString("utf8").trim();
  if (value === "") throw new Error(`${path} is empty`);
  return oneLine(value, path);
}

/** What goes into a header; a line end in it would be refused only when a model is asked. */
function oneLine(value: string, where: string): string {
  if (/^[\x20-\x7e]+$/.test(value)) return value;
  throw new Error(`${where} holds more than one line, or letters that a header cannot carry`);
}
