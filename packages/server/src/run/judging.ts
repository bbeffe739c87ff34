import { StoreUnavailableError } from "../core/errors.ts";
import { draft } from "../core/harness/drafting.ts";
import { callsToJudge } from "../core/harness/held-response.ts";
import {
  type JudgedCall,
  judgeRequest,
  type Opinion,
  opinionOf,
  undecided,
  userMessages,
} from "../core/harness/judge.ts";
import { requestCost } from "../core/harness/request-end.ts";
import { responseDrafts } from "../core/harness/response.ts";
import type { ModelUsage } from "../core/ports/model.ts";
import { threadState } from "../core/session/state.ts";
import type { OfferedTool } from "../core/tools/offered-tools.ts";
import type { DriveDeps } from "./deps.ts";
import type { SessionView } from "./session-view.ts";
import type { EffectContext, Settlement } from "./settlement.ts";
import { threadTools } from "./thread-tools.ts";

/** Requests to the judge at a time. */
const PARALLEL = 4;
/** Messages of the user that a judge is shown, from the beginning and from the end of the conversation. */
const FIRST_MESSAGES = 5;
const NEWEST_MESSAGES = 20;

interface Judged extends Opinion {
  readonly index: number;
  readonly usage?: ModelUsage;
}

/**
 * Has the calls of a held response judged, and then appends the response with what came of it. Each call is
 * judged by a request of its own, so that the input of one says nothing for another. A judge that cannot
 * be asked, or does not answer in time or clearly, has no say: the user is asked instead.
 */
export async function judgeCalls(effects: EffectContext, signal: AbortSignal): Promise<Settlement> {
  const { view, deps } = effects;
  const { session } = view;
  const { held } = view;
  const response = { ...held.response, request_id: held.response.request_id };
  const tools = threadTools(view, deps);
  const toolOf = (name: string): OfferedTool | undefined =>
    tools.find(({ definition }) => definition.name === name);
  const model = deps.judgeModel ?? session.agent.model.id;
  const said = await saidBy(view, deps);
  const calls = [...callsToJudge(response, toolOf)];
  deps.failPoint("serve.judge.before");
  const judged = await inTurns(calls, async ([index, call], place): Promise<Judged> => {
    if (place >= deps.policies.judgedCallsMax) {
      return { index, ...undecided("The response has more calls than are judged.") };
    }
    return { index, ...(await opinionOn(call, { model, said }, effects, signal)) };
  });
  deps.failPoint("serve.judge.after");
  return {
    drafts: (state, drafting) => {
      const { goOns } = threadState(state, drafting.threadId);
      const context = {
        requestId: held.request,
        previewId: (index: number) => held.preview_ids[index] ?? undefined,
        toolOf,
        judgements: new Map(judged.map(({ index, judgement }) => [index, judgement])),
        goOns,
        policies: deps.policies,
      };
      const opinions = judged.map(({ index, judgement, reason, usage }) => {
        const cost = requestCost({ outcome: "failed", usage }, { id: model }, drafting);
        return {
          ...{ index, judgement, reason },
          ...(usage !== undefined && { usage }),
          ...(cost !== undefined && { cost: String(cost) }),
        };
      });
      return [
        draft(drafting, "drover.calls_judged", {
          public: {},
          private: { request: held.request, model, opinions },
        }),
        ...responseDrafts(response, context, drafting),
      ];
    },
  };
}

/**
 * What the user has said, from the log itself, which no compaction shortens, and what waits to be taken
 * up: it may forbid what is to be judged. Undefined if the store cannot be read now.
 */
async function saidBy(
  view: SessionView,
  { store }: DriveDeps,
): Promise<readonly string[] | undefined> {
  const threadId = view.session.thread_id;
  const range = { types: ["user.message"] as const, threadId };
  try {
    const first = await store.events.getEvents(view.key, { ...range, limit: FIRST_MESSAGES });
    const after = first.at(-1)?.seq ?? 0;
    const order = "desc" as const;
    const newest = { ...range, after, order, limit: NEWEST_MESSAGES };
    const last = await store.events.getEvents(view.key, newest);
    return userMessages([...first, ...last.toReversed(), ...view.inbox]);
  } catch (error) {
    if (error instanceof StoreUnavailableError) return undefined;
    throw error;
  }
}

async function opinionOn(
  call: JudgedCall,
  { model, said }: { model: string; said: readonly string[] | undefined },
  { view, deps }: EffectContext,
  signal: AbortSignal,
): Promise<Opinion & { readonly usage?: ModelUsage }> {
  if (said === undefined) return undecided("What the user said could not be read.");
  const info = deps.findModel(model)?.info;
  const judge = {
    id: model,
    windowTokens: info?.max_input_tokens ?? undefined,
    outputTokens: info?.max_tokens ?? undefined,
  };
  const request = judgeRequest(judge, call, said);
  if (request === undefined) return undecided("The call's input is too long to be judged.");
  const limit = AbortSignal.any([signal, AbortSignal.timeout(deps.policies.judgeMs)]);
  const outcome = await deps.model.respond(request, UNWATCHED, limit);
  if (outcome.type === "failure" && !signal.aborted) {
    // The user is asked and goes on; only the operator can see why it comes to that each time.
    const fields = { session_id: view.session.id, model, reason: outcome.message };
    deps.log.info(fields, "a call could not be judged");
  }
  const { usage } = outcome;
  return { ...opinionOf(outcome), ...(usage !== undefined && { usage }) };
}

const UNWATCHED = { blockStarted: () => undefined, textDelta: () => undefined };

/** The results in order, a few at a time. */
async function inTurns<T, R>(
  items: readonly T[],
  work: (item: T, place: number) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  for (let from = 0; from < items.length; from += PARALLEL) {
    const some = items.slice(from, from + PARALLEL);
    results.push(...(await Promise.all(some.map((item, place) => work(item, from + place)))));
  }
  return results;
}
