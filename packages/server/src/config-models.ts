import { ModelInfo } from "@drover/api";
import { z } from "zod";

const MODELS_MAX = 200;
/** What the contract wants where the day of release is unknown. */
const UNKNOWN_DAY = "1970-01-01T00:00:00Z";

const Id = z.string().regex(/^[!-~]{1,256}$/, "must be 1 to 256 characters without blanks");
/** YAML reads a plain date as text, which is what the contract's times are made of. */
const Day = z.union([z.iso.datetime({ offset: true }), z.iso.date()]);

const { line, lifecycle, max_input_tokens, max_tokens } = ModelInfo.shape;

const Entry = z.strictObject({
  id: Id,
  display_name: z.string().min(1).max(256).optional(),
  created_at: Day.optional(),
  aliases: z.array(Id).max(20).default([]),
  fast: z.boolean().default(false),
  line: line.default(null),
  lifecycle: lifecycle.default("active"),
  deprecated_at: Day.optional(),
  retires_at: Day.optional(),
  max_input_tokens: max_input_tokens.default(null),
  max_tokens: max_tokens.default(null),
});

/** The models of the operator's API, as settings name them: a list, in a variable as JSON. */
export const ModelSettings = z.preprocess(
  parsedJson,
  z
    .array(Entry)
    .max(MODELS_MAX)
    .refine(hasDistinctNames, "an id or alias is there twice")
    .transform((entries) => entries.map(offeredModel)),
);

export type ModelSettings = z.output<typeof ModelSettings>;

function parsedJson(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    // The schema then says that it is no list.
    return value;
  }
}

function hasDistinctNames(entries: readonly z.infer<typeof Entry>[]): boolean {
  const names = entries.flatMap(({ id, aliases }) => [id, ...aliases]);
  return new Set(names).size === names.length;
}

function offeredModel(entry: z.infer<typeof Entry>) {
  const { aliases, fast, id, display_name, created_at, deprecated_at, retires_at, ...rest } = entry;
  return {
    aliases,
    hasFastMode: fast,
    info: {
      ...rest,
      id,
      type: "model" as const,
      display_name: display_name ?? id,
      created_at: timeOf(created_at) ?? UNKNOWN_DAY,
      deprecated_at: timeOf(deprecated_at) ?? null,
      retires_at: timeOf(retires_at) ?? null,
      allowed_fallback_models: null,
      capabilities: null,
    },
  };
}

function timeOf(day: string | undefined): string | undefined {
  return day === undefined ? undefined : new Date(day).toISOString();
}
