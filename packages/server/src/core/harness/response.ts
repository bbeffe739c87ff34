import type { TextBlock } from "@drover/api";
import { isRecord } from "../../lib/is-record.ts";
import type { ModelBlock, ModelOutcome } from "../ports/model.ts";
import type { EventDraft, Judgement, ModelOrigin } from "../session/log-event.ts";
import type { GoOns } from "../session/state.ts";
import type { OfferedTool } from "../tools/offered-tools.ts";
import { type Drafting, draft, sessionError } from "./drafting.ts";
import { stalledError } from "./notes.ts";
import { permissionOf } from "./permission.ts";
import type { Policies } from "./policies.ts";
import { requestEnded } from "./request-end.ts";
import { unreadableResult } from "./results.ts";
import { tamed } from "./tame.ts";
import { isBlank, type Verdict, verdictOf } from "./verdict.ts";
import { worksAround } from "./workarounds.ts";

type Response = Extract<ModelOutcome, { type: "response" }>;
type IndexedBlock = ModelOrigin["blocks"][number];

/** Characters of an API's words for a thing, such as a stop reason. */
const CATEGORY_LENGTH_MAX = 200;
const EXPLANATION_LENGTH_MAX = 10_000;

export interface ResponseContext {
  readonly requestId: string;
  /** The id that was previewed for the event of a block; undefined if none was. */
  readonly previewId: (blockIndex: number) => string | undefined;
  /** The agent's tool of this name; undefined if it has none, or may not use it. */
  readonly toolOf: (toolName: string) => OfferedTool | undefined;
  /** What was judged of calls, by the index of their block. */
  readonly judgements?: ReadonlyMap<number, Judgement>;
  /** Responses in a row before this one that brought its turn no further. */
  readonly goOns: GoOns;
  readonly policies: Policies;
}

/**
 * One model response as the events that are appended for it, in one append: what was said and asked
 * for, in the order of its blocks, then the end of the request, then the answers that need no hand.
 */
export function responseDrafts(
  response: Response,
  context: ResponseContext,
  drafting: Drafting,
): readonly EventDraft[] {
  const verdict = verdictOf(response, context.goOns, context.policies, drafting.model.id);
  const isRefusal = verdict.type === "refusal";
  const runs = blockRuns(withUniqueToolIds(response.blocks), isRefusal);
  const kept = runs.filter((run) => run.kind !== "other");
  const others = runs.filter((run) => run.kind === "other").flatMap((run) => run.blocks);
  const end = requestEnded(drafting, context.requestId, {
    outcome: "response",
    stop_reason: response.stop_reason?.slice(0, CATEGORY_LENGTH_MAX) ?? null,
    usage: response.usage,
    ...(isRefusal && { refusal: refusalOf(response) }),
    ...goingOn(response, verdict, context.policies, drafting.model.id),
    ...(response.request_id !== undefined && {
      api_request_id: response.request_id.slice(0, CATEGORY_LENGTH_MAX),
    }),
    ...(others.length > 0 && { blocks: others }),
    ...(response.held_back !== undefined && { held_back: response.held_back }),
  });
  const drafts = kept.map((run) => runDraft(run, response, context, drafting));
  return [
    ...drafts,
    end,
    ...unreadableResults(kept, drafts, response, drafting),
    ...(verdict.type === "stalled"
      ? [
          sessionError(
            drafting,
            stalledError(verdict.because, (context.goOns[verdict.because] ?? 0) + 1),
          ),
        ]
      : []),
  ];
}

/** What the next request has to know of this response. */
function goingOn(response: Response, verdict: Verdict, policies: Policies, modelId: string) {
  const isTold = verdict.type === "calls" || verdict.type === "go_on";
  return {
    ...(verdict.type === "go_on" && { go_on: verdict.because }),
    ...(isTold &&
      response.cut_call !== undefined &&
      worksAround(policies, "cut_call_repeated", modelId) && { cut_call: response.cut_call }),
  };
}

function unreadableResults(
  runs: readonly BlockRun[],
  drafts: readonly EventDraft[],
  response: Response,
  drafting: Drafting,
): readonly EventDraft[] {
  return runs.flatMap((run, place) => {
    const unreadable = unreadableIn(response, run);
    const call = drafts[place];
    if (unreadable === undefined || call === undefined) return [];
    return [unreadableResult(drafting, call.id, unreadable)];
  });
}

/** Of a tool use: it stands alone in its run. */
function unreadableIn({ unreadable_inputs = [] }: Response, { kind, blocks: [first] }: BlockRun) {
  if (kind !== "tool_use") return undefined;
  return unreadable_inputs.find(({ index }) => index === first?.index);
}

interface BlockRun {
  readonly kind: "text" | "thinking" | "tool_use" | "other";
  readonly blocks: readonly IndexedBlock[];
}

/** Neighbouring text is one message; everything else stands alone. */
function blockRuns(blocks: readonly ModelBlock[], isRefusal: boolean): readonly BlockRun[] {
  const runs: { kind: BlockRun["kind"]; blocks: IndexedBlock[] }[] = [];
  for (const [index, block] of blocks.entries()) {
    const kind = kindOf(block, isRefusal);
    const last = runs.findLast((run) => run.kind !== "other");
    if (kind === "text" && last?.kind === "text") last.blocks.push({ index, block });
    else runs.push({ kind, blocks: [{ index, block }] });
  }
  return runs;
}

function kindOf(block: ModelBlock, isRefusal: boolean): BlockRun["kind"] {
  switch (block.type) {
    case "text":
      return isBlank(block) ? "other" : "text";
    case "thinking":
    case "redacted_thinking":
      return "thinking";
    case "tool_use":
      // A refusing model asks for nothing: what it had begun to ask for is not run.
      return isRefusal ? "other" : "tool_use";
    default:
      return "other";
  }
}

function runDraft(
  run: BlockRun,
  response: Response,
  context: ResponseContext,
  drafting: Drafting,
): EventDraft {
  const { requestId: request, previewId } = context;
  const origin: ModelOrigin = { request, blocks: run.blocks };
  const given = run.blocks.map(({ index }) => previewId(index)).find((id) => id !== undefined);
  switch (run.kind) {
    case "thinking":
      return draft(drafting, "agent.thinking", { public: {}, private: origin }, given);
    case "tool_use": {
      const isReadable = unreadableIn(response, run) === undefined;
      return callDraft(origin, isReadable, context, { drafting, given });
    }
    default: {
      const content = run.blocks.map(({ block }): TextBlock => {
        return { type: "text", text: String(block["text"]).toWellFormed() };
      });
      return draft(drafting, "agent.message", { public: { content }, private: origin }, given);
    }
  }
}

/** Unreadable is refused before any policy is asked: then, as for a tool there is not, without an evaluation. */
function callDraft(
  origin: ModelOrigin,
  isReadable: boolean,
  context: ResponseContext,
  { drafting, given }: { drafting: Drafting; given: string | undefined },
): EventDraft {
  const [called] = origin.blocks;
  const name = String(called?.block["name"]);
  const input = isRecord(called?.block["input"]) ? called.block["input"] : {};
  const tool = isReadable ? context.toolOf(name) : undefined;
  if (tool?.runBy === "client") {
    const body = { public: { name, input }, private: origin };
    return draft(drafting, "agent.custom_tool_use", body, given);
  }
  const judgement = called && context.judgements?.get(called.index);
  if (tool?.runBy === "hands" && tool.mcp !== undefined) {
    const { server, tool: own } = tool.mcp;
    const use = { mcp_server_name: server, name: own, input, ...permissionOf(tool, judgement) };
    return draft(
      drafting,
      "agent.mcp_tool_use",
      { public: use, private: { ...origin, tool: name } },
      given,
    );
  }
  const body = {
    public: { name, input, ...permissionOf(tool, judgement) },
    private: { ...origin, ...(tool?.runBy === "loop" && { run_by: tool.runBy }) },
  };
  return draft(drafting, "agent.tool_use", body, given);
}

/** Some servers repeat an id within a response; every call must have one of its own to be answered. */
function withUniqueToolIds(blocks: readonly ModelBlock[]): readonly ModelBlock[] {
  const seen = new Set<unknown>();
  return blocks.map((block, index) => {
    if (block.type !== "tool_use") return block;
    const id = block["id"];
    const isUsable = typeof id === "string" && id !== "" && !seen.has(id);
    const unique = isUsable ? id : `${typeof id === "string" ? id : "toolu"}_${index}`;
    seen.add(unique);
    return isUsable ? block : { ...block, id: unique };
  });
}

function refusalOf(response: Response) {
  const details = response.stop_details;
  const text = (key: string, lengthMax: number) => {
    const value = details?.[key];
    return typeof value === "string" ? tamed(value.slice(0, lengthMax)) : null;
  };
  return {
    type: "refusal" as const,
    category: text("category", CATEGORY_LENGTH_MAX),
    explanation: text("explanation", EXPLANATION_LENGTH_MAX),
  };
}
