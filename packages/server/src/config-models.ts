import { ModelInfo } from "@drover/api";
import { z } from "zod";
import {
  type Abilities,
  AbilitySettings,
  abilitiesOf,
  capabilitiesOf,
} from "./config-model-abilities.ts";
import { PriceSettings } from "./config-model-prices.ts";
import type { ProviderSettings } from "./config-providers.ts";

export const MODELS_MAX = 200;
/** What the contract wants where the day of release is unknown. */
const UNKNOWN_DAY = "1970-01-01T00:00:00Z";
const PARAMETERS_BYTES_MAX = 16 * 1024;
/** What a request says for itself. */
const OWN_PARAMETERS = [
  "model",
  "messages",
  "system",
  "tools",
  "stream",
  "stream_options",
  "max_tokens",
  "max_completion_tokens",
];

const Id = z.string().regex(/^[!-~]{1,256}$/, "must be 1 to 256 characters without blanks");
/** YAML reads a plain date as text, which is what the contract's times are made of. */
const Day = z.union([z.iso.datetime({ offset: true }), z.iso.date()]);

const { line, lifecycle, max_input_tokens, max_tokens } = ModelInfo.shape;

const Parameters = z
  .record(z.string().min(1).max(128), z.json())
  .refine((all) => JSON.stringify(all).length <= PARAMETERS_BYTES_MAX, {
    error: `must be at most ${PARAMETERS_BYTES_MAX} bytes`,
  })
  .superRefine((all, context) => {
    for (const name of OWN_PARAMETERS.filter((own) => own in all)) {
      const message = "is set by Drover itself and cannot be given here";
      context.addIssue({ code: "custom", path: [name], message });
    }
  });

export const ModelEntry = z
  .strictObject({
    id: Id,
    /** The name of a provider of the models file; that of the settings unless given. */
    provider: z.string().min(1).optional(),
    /** What the model is called there, if not by its id. */
    model: Id.optional(),
    display_name: z.string().min(1).max(256).optional(),
    created_at: Day.optional(),
    aliases: z.array(Id).max(20).default([]),
    fast: z.boolean().default(false),
    line: line.default(null),
    lifecycle: lifecycle.default("active"),
    deprecated_at: Day.optional(),
    retires_at: Day.optional(),
    max_input_tokens: max_input_tokens.unwrap().int().min(1).nullable().default(null),
    max_tokens: max_tokens.unwrap().int().min(1).nullable().default(null),
    prices: PriceSettings.optional(),
    can: AbilitySettings.optional(),
    parameters: Parameters.optional(),
  })
  .superRefine(({ lifecycle: stage, ...dates }, context) => {
    // The contract has them null for an active model.
    const early = (["deprecated_at", "retires_at"] as const).find(
      (name) => dates[name] !== undefined,
    );
    if (stage !== "active" || early === undefined) return;
    const message = "is for a model whose lifecycle is deprecated or retired";
    context.addIssue({ code: "custom", path: [early], message });
  });

export type ModelEntry = z.output<typeof ModelEntry>;

/** The list of the setting `models`, in a variable as JSON. */
export const ModelSettings = z.preprocess(
  parsedJson,
  z
    .array(ModelEntry)
    .max(MODELS_MAX)
    .refine((entries) => nameGivenTwice(entries) === undefined, "an id or alias is there twice"),
);

export type ModelSettings = z.output<typeof ModelSettings>;

/** A model with where it is and how it is asked. */
export interface ConfiguredModel {
  readonly aliases: readonly string[];
  readonly hasFastMode: boolean;
  readonly info: ModelInfo;
  readonly prices?: z.output<typeof PriceSettings>;
  readonly abilities?: Abilities;
  readonly provider?: string;
  readonly upstreamId?: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** The first id or alias that is there a second time. */
export function nameGivenTwice(
  entries: readonly Pick<ModelEntry, "id" | "aliases">[],
): { name: string; index: number } | undefined {
  const seen = new Set<string>();
  for (const [index, { id, aliases }] of entries.entries()) {
    for (const name of [id, ...aliases]) {
      if (seen.has(name)) return { name, index };
      seen.add(name);
    }
  }
  return undefined;
}

export function configuredModel(
  entry: ModelEntry,
  providerKind: ProviderSettings["kind"],
): ConfiguredModel {
  const { id, provider, model, prices, parameters, can } = entry;
  const abilities = abilitiesOf(providerKind, can);
  return {
    aliases: entry.aliases,
    hasFastMode: entry.fast,
    info: {
      id,
      type: "model",
      display_name: entry.display_name ?? id,
      created_at: timeOf(entry.created_at) ?? UNKNOWN_DAY,
      line: entry.line,
      lifecycle: entry.lifecycle,
      deprecated_at: timeOf(entry.deprecated_at) ?? null,
      retires_at: timeOf(entry.retires_at) ?? null,
      max_input_tokens: entry.max_input_tokens,
      max_tokens: entry.max_tokens,
      allowed_fallback_models: null,
      // Only what somebody said is shown; what is merely assumed is not known.
      capabilities: can === undefined || abilities === undefined ? null : capabilitiesOf(abilities),
    },
    ...(prices !== undefined && { prices }),
    ...(abilities !== undefined && { abilities }),
    ...(provider !== undefined && { provider }),
    ...(model !== undefined && { upstreamId: model }),
    ...(parameters !== undefined && { parameters }),
  };
}

function parsedJson(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    // The schema then says that it is no list.
    return value;
  }
}

function timeOf(day: string | undefined): string | undefined {
  return day === undefined ? undefined : new Date(day).toISOString();
}
