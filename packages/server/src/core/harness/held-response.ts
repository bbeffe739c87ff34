import { isRecord } from "../../lib/is-record.ts";
import type { ModelOutcome } from "../ports/model.ts";
import type { EventDraft } from "../session/log-event.ts";
import type { OfferedTool } from "../tools/offered-tools.ts";
import { type Drafting, draft } from "./drafting.ts";
import type { JudgedCall } from "./judge.ts";
import { requestCost } from "./request-end.ts";

type Response = Extract<ModelOutcome, { type: "response" }>;

/**
 * The calls of a response that have to be judged before it can be shown, by the index of their block. A
 * judgement is part of the call's event, and a response is one append.
 */
export function callsToJudge(
  response: Response,
  toolOf: (name: string) => OfferedTool | undefined,
): ReadonlyMap<number, JudgedCall> {
  // A refusing model asks for nothing.
  if (response.stop_reason === "refusal") return new Map();
  const unreadable = new Set((response.unreadable_inputs ?? []).map(({ index }) => index));
  const calls = response.blocks.flatMap((block, index): [number, JudgedCall][] => {
    if (block.type !== "tool_use" || unreadable.has(index)) return [];
    const tool = toolOf(String(block["name"]));
    if (tool?.runBy !== "hands" || tool.policy !== "auto") return [];
    const input = isRecord(block["input"]) ? block["input"] : {};
    return [[index, { tool: tool.definition, input }]];
  });
  return new Map(calls);
}

/** Keeps a response until its calls are judged, so that whoever dies meanwhile, it is not asked for again. */
export function heldDraft(
  drafting: Drafting,
  requestId: string,
  response: Response,
  previewId: (blockIndex: number) => string | undefined,
): EventDraft {
  const preview_ids = response.blocks.map((_, index) => previewId(index) ?? null);
  const cost = requestCost(
    { outcome: "response", usage: response.usage },
    drafting.model,
    drafting,
  );
  return draft(drafting, "drover.response_held", {
    public: {},
    private: {
      ...{ request: requestId, response, preview_ids },
      ...(cost !== undefined && { cost: String(cost) }),
    },
  });
}
