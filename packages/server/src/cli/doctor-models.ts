import type { Config } from "../config.ts";
import { isRecord } from "../lib/is-record.ts";
import { type Finding, good, limit } from "./doctor-finding.ts";

const ANTHROPIC_URL = "https://api.anthropic.com";
const ASK_MS = 10_000;
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
/** Of a name that came from elsewhere. */
const NAME_LENGTH_MAX = 256;

/** An API that runs models, as the settings have it. */
interface Access {
  readonly name: string;
  /** Of its list of models. */
  readonly listUrl: string;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
  /** What its models are called there, as far as they are configured. */
  readonly modelIds: readonly string[];
}

/** Who is set up to run models; asks nobody. */
export function examineModels({ model }: Config): readonly Finding[] {
  const found = accesses(model).map(({ name, text }) => good("model", `${name}: ${text}`));
  if (found.length > 0) return found;
  const text =
    "only offline/* models; set DROVER_MODEL_BASE_URL, or DROVER_MODELS_FILE, for a real one";
  return [limit("model", text)];
}

/** Asks each of them, with its key, which models it has. */
export async function askModels({ model }: Config): Promise<readonly Finding[]> {
  return await Promise.all(accesses(model).map(askOne));
}

async function askOne(access: Access): Promise<Finding> {
  const { name, listUrl, headers, modelIds } = access;
  try {
    const response = await fetch(listUrl, {
      headers,
      redirect: "error",
      signal: AbortSignal.timeout(ASK_MS),
    });
    if (!response.ok) return limit("model", `${name}: ${listUrl} answers ${response.status}`);
    const there = idsIn(await boundedText(response));
    const missing = modelIds.filter((id) => !there.includes(id));
    if (missing.length === 0) return good("model", `${name}: answers, and lists ${there.length}`);
    return limit("model", `${name}: answers, and does not list ${missing.join(", ")}`);
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    const reason = cause instanceof Error ? cause.message : String(cause);
    return limit("model", `${name}: ${listUrl} does not answer: ${reason}`);
  }
}

function accesses(model: Config["model"]): readonly Access[] {
  const { baseUrl, apiKey, providers, models } = model;
  const idsOf = (provider: string | undefined) =>
    models.filter((it) => it.provider === provider).map((it) => it.upstreamId ?? it.info.id);
  const isSetUp = baseUrl !== undefined || apiKey !== undefined;
  const standard = {
    name: "default",
    kind: "messages" as const,
    baseUrl: baseUrl ?? ANTHROPIC_URL,
    apiKey,
    headers: {},
  };
  return [...(isSetUp ? [standard] : []), ...providers].map((provider) => {
    const modelIds = idsOf(provider === standard ? undefined : provider.name);
    const others = Object.entries(provider.headers).map(([name, value]) => [name, value.reveal()]);
    const key = provider.apiKey?.reveal();
    const base = provider.baseUrl.replace(/\/+$/, "");
    const isMessages = provider.kind === "messages";
    return {
      name: provider.name,
      listUrl: isMessages ? `${base.replace(/\/v1$/, "")}/v1/models?limit=1000` : `${base}/models`,
      text: `${provider.kind} at ${base}, ${key === undefined ? "without a key" : "with a key"}; models by name: ${modelIds.length}`,
      headers: {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(isMessages && { "anthropic-version": "2023-06-01" }),
        ...Object.fromEntries(others),
      },
      modelIds,
    };
  });
}

/** Both APIs answer `{"data": [{"id": …}, …]}`. */
function idsIn(text: string): readonly string[] {
  const body: unknown = JSON.parse(text);
  if (!isRecord(body) || !Array.isArray(body["data"])) return [];
  return body["data"].flatMap((model: unknown) =>
    isRecord(model) && typeof model["id"] === "string"
      ? [model["id"].slice(0, NAME_LENGTH_MAX)]
      : [],
  );
}

async function boundedText(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.byteLength;
    if (bytes > ANSWER_BYTES_MAX) throw new Error("its list of models has no end");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}
