import { z } from "zod";
import { limitQuery, queryArray } from "./pagination.ts";
import { nonEmptyText } from "./text.ts";

/** Models (wire §13). */

export const ModelLifecycle = z.enum(["active", "deprecated", "retired"]);

const Support = z.object({ supported: z.boolean() });

export const ModelCapabilities = z.object({
  batch: Support,
  citations: Support,
  code_execution: Support,
  compaction: Support.extend({ summarize: Support }).nullable(),
  context_management: Support.extend({
    clear_thinking_20251015: Support.nullable(),
    clear_tool_uses_20250919: Support.nullable(),
    compact_20260112: Support.nullable(),
  }),
  effort: Support.extend({
    low: Support,
    medium: Support,
    high: Support,
    xhigh: Support.nullable(),
    max: Support,
  }),
  image_input: Support,
  pdf_input: Support,
  server_tools: Support.extend({ code_execution: Support, web_search: Support }),
  structured_outputs: Support,
  thinking: Support.extend({
    types: z.object({
      adaptive: Support,
      between_tools: Support,
      disabled: Support,
      enabled: Support,
    }),
  }),
});

export const ModelInfo = z.object({
  id: z.string(),
  type: z.literal("model"),
  display_name: z.string(),
  created_at: z.string(),
  line: z.enum(["haiku", "sonnet", "opus", "fable", "mythos"]).nullable(),
  lifecycle: ModelLifecycle,
  deprecated_at: z.string().nullable(),
  retires_at: z.string().nullable(),
  max_input_tokens: z.number().nullable(),
  max_tokens: z.number().nullable(),
  allowed_fallback_models: z.array(z.string()).nullable(),
  capabilities: ModelCapabilities.nullable(),
});

export const ModelListQuery = z.strictObject({
  ...limitQuery,
  after_id: nonEmptyText(256).optional(),
  before_id: nonEmptyText(256).optional(),
  lifecycle: queryArray(ModelLifecycle, ModelLifecycle.options.length).optional(),
});

export type ModelLifecycle = z.infer<typeof ModelLifecycle>;
export type ModelCapabilities = z.infer<typeof ModelCapabilities>;
export type ModelInfo = z.infer<typeof ModelInfo>;
export type ModelListQuery = z.infer<typeof ModelListQuery>;
