import { z } from "zod";

const EFFORTS = ["low", "medium", "high", "xhigh", "max"] as const;

type Effort = (typeof EFFORTS)[number];

/** What settings say a model can do. What they leave out depends on the kind of its provider. */
export const AbilitySettings = z.strictObject({
  images: z.boolean().optional(),
  pdf: z.boolean().optional(),
  parallel_tools: z.boolean().optional(),
  thinking: z.boolean().optional(),
  system_messages: z.boolean().optional(),
  effort: z.union([z.boolean(), z.array(z.enum(EFFORTS))]).optional(),
});

export type AbilitySettings = z.output<typeof AbilitySettings>;

export interface Abilities {
  readonly images: boolean;
  readonly pdf: boolean;
  readonly parallelTools: boolean;
  readonly thinking: boolean;
  readonly systemMessages: boolean;
  readonly efforts: readonly Effort[];
}

/** Anthropic's own models can do all of it. */
const OF_MESSAGES: Abilities = {
  images: true,
  pdf: true,
  parallelTools: true,
  thinking: true,
  systemMessages: true,
  efforts: EFFORTS,
};

/** What every server takes: a model that is sent an image it cannot see answers with an error. */
const OF_CHAT_COMPLETIONS: Abilities = {
  images: false,
  pdf: false,
  parallelTools: true,
  thinking: true,
  systemMessages: false,
  efforts: [],
};

/** Undefined where nothing is known: then nothing is held back. */
export function abilitiesOf(
  kind: "messages" | "chat_completions",
  given: AbilitySettings | undefined,
): Abilities | undefined {
  if (kind === "messages" && given === undefined) return undefined;
  const usual = kind === "messages" ? OF_MESSAGES : OF_CHAT_COMPLETIONS;
  const { effort } = given ?? {};
  return {
    images: given?.images ?? usual.images,
    pdf: given?.pdf ?? usual.pdf,
    parallelTools: given?.parallel_tools ?? usual.parallelTools,
    thinking: given?.thinking ?? usual.thinking,
    systemMessages: given?.system_messages ?? usual.systemMessages,
    efforts: effort === undefined ? usual.efforts : effortsOf(effort),
  };
}

/** As the contract shows it, from a session's point of view: it has no batches and no citations. */
export function capabilitiesOf({ images, pdf, thinking, efforts }: Abilities) {
  const is = (supported: boolean) => ({ supported });
  return {
    batch: is(false),
    citations: is(false),
    code_execution: is(false),
    compaction: null,
    context_management: {
      supported: false,
      clear_thinking_20251015: null,
      clear_tool_uses_20250919: null,
      compact_20260112: null,
    },
    effort: {
      supported: efforts.length > 0,
      low: is(efforts.includes("low")),
      medium: is(efforts.includes("medium")),
      high: is(efforts.includes("high")),
      xhigh: is(efforts.includes("xhigh")),
      max: is(efforts.includes("max")),
    },
    image_input: is(images),
    pdf_input: is(pdf),
    server_tools: { supported: false, code_execution: is(false), web_search: is(false) },
    structured_outputs: is(false),
    thinking: {
      supported: thinking,
      types: {
        adaptive: is(thinking),
        between_tools: is(thinking),
        disabled: is(true),
        enabled: is(thinking),
      },
    },
  };
}

function effortsOf(effort: boolean | readonly Effort[]): readonly Effort[] {
  if (typeof effort === "boolean") return effort ? EFFORTS : [];
  return EFFORTS.filter((level) => effort.includes(level));
}
