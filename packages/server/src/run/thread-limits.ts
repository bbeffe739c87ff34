import { unmarkedRequest } from "../core/harness/model-request.ts";
import type { ModelLimits } from "../core/harness/room.ts";
import { requestTokens } from "../core/harness/summary-request.ts";
import { worksAround } from "../core/harness/workarounds.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { DriveDeps } from "./deps.ts";

type LimitDeps = Pick<DriveDeps, "policies" | "findModel" | "model" | "toolsOf">;

/** A session is another object once it was changed. */
const fixedTokens = new WeakMap<SessionRecord, number>();

/** What a session's model takes; undefined if its contexts are not to be compacted. */
export function threadLimits(session: SessionRecord, deps: LimitDeps): ModelLimits | undefined {
  const { id } = session.agent.model;
  if (!worksAround(deps.policies, "compaction", id)) return undefined;
  const info = deps.findModel(id)?.info;
  return {
    windowTokens: info?.max_input_tokens ?? undefined,
    outputTokens: info?.max_tokens ?? undefined,
    canCount: deps.model.count !== undefined,
    fixedTokens: fixedTokensOf(session, deps),
  };
}

function fixedTokensOf(session: SessionRecord, deps: LimitDeps): number {
  const known = fixedTokens.get(session);
  if (known !== undefined) return known;
  const definitions = deps.toolsOf(session).map(({ definition }) => definition);
  const request = unmarkedRequest(session, [], definitions, deps.policies);
  const tokens = requestTokens(request);
  fixedTokens.set(session, tokens);
  return tokens;
}
