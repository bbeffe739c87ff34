import { filesGoneText, filesLeftText, type MissingCalls } from "../core/harness/files-gone.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import { type HandRecord, isAhead } from "../core/ports/hand-records.ts";
import type { CallOutcome, HandCall, HandFiles, HandsBoot } from "../core/ports/hands.ts";
import type { Store, StoreTransaction } from "../core/ports/store.ts";
import { installationOf } from "../core/sandboxes/boot-id.ts";
import { threadState } from "../core/session/state.ts";
import { isSandboxTool } from "../core/sessions/workspace-at.ts";
import { missingCalls } from "./files-gone.ts";
import type { EffectContext } from "./settlement.ts";

/** Written in the transaction of what is appended. */
interface Alongside {
  readonly alongside?: (tx: StoreTransaction) => Promise<void>;
}

/** Which files the hand's next calls are for, as hands are told. */
export async function filesOf(
  store: Pick<Store, "hands">,
  { workspaceId }: SessionKey,
  handId: string,
): Promise<HandFiles | undefined> {
  const hand = await store.hands.find(workspaceId, handId);
  if (hand === undefined) return undefined;
  const { line, checkpoint } = hand;
  return {
    line,
    is_ahead: isAhead(hand),
    ...(checkpoint !== null && {
      checkpoint: { sha256: checkpoint.sha256, size_bytes: checkpoint.size_bytes },
    }),
  };
}

/**
 * Before a call is sent: where the hand's files are to be from now on. Where they were elsewhere, and
 * more than is kept of them, `gone` says what may be missing, and the call is not to be sent.
 */
export async function placeFiles(
  context: EffectContext,
  { hand_id: handId, installation_id: installationId }: HandsBoot,
): Promise<Alongside & { readonly gone?: string }> {
  const { view, deps } = context;
  const { workspaceId } = view.key;
  const hand = await deps.store.hands.find(workspaceId, handId);
  if (hand?.installation_id === installationId) return {};
  const where = { installationId, line: (hand?.line ?? 0) + 1 };
  const alongside = (tx: StoreTransaction) => tx.hands.place(workspaceId, handId, where);
  if (hand === undefined || !isAhead(hand)) return { alongside };
  return { alongside, gone: await told(context, hand) };
}

/** After hands said that a hand's files are not there any more. */
export async function loseFiles(
  context: EffectContext,
  { workspaceId, handId, files }: HandCall,
): Promise<Alongside & { readonly gone: string }> {
  const hand = await context.deps.store.hands.find(workspaceId, handId);
  if (hand === undefined) throw new Error(`nothing is known of the files of ${handId}`);
  const { installation_id: installationId } = hand;
  const where = { installationId, line: (files?.line ?? hand.line) + 1 };
  return {
    alongside: (tx) => tx.hands.place(workspaceId, handId, where),
    gone: await told(context, hand),
  };
}

/**
 * After a call was found to be another machine's, where it may still run: the hand's files are left to it, so that
 * nothing it does there is ever among the session's. Undefined if they are elsewhere already, or were never
 * the call's.
 */
export async function leaveFiles(
  context: EffectContext,
  { workspaceId, handId, handsBoot, name }: HandCall,
): Promise<(Alongside & { readonly left: string }) | undefined> {
  if (!isSandboxTool(name)) return undefined;
  const hand = await context.deps.store.hands.find(workspaceId, handId);
  if (hand === undefined || hand.installation_id !== installationOf(handsBoot)) return undefined;
  const { installation_id: installationId, line } = hand;
  return {
    alongside: (tx) => tx.hands.place(workspaceId, handId, { installationId, line: line + 1 }),
    left: filesLeftText(await missingOf(context, hand), hand.checkpoint),
  };
}

/** After a call in the sandbox that has a result, which may be an error: it may have changed files. */
export function noteAnswer(
  { workspaceId, handId, callId, name, files }: HandCall,
  { type }: CallOutcome,
): Alongside {
  if (files === undefined || !isSandboxTool(name)) return {};
  // Of one that is lost it was told already that nobody knows what it changed; maybe there never was a sandbox.
  if (type !== "result") return {};
  return { alongside: (tx) => tx.hands.answered(workspaceId, handId, callId) };
}

async function told(context: EffectContext, hand: HandRecord): Promise<string> {
  return filesGoneText(await missingOf(context, hand), hand.checkpoint);
}

async function missingOf({ view, deps }: EffectContext, hand: HandRecord): Promise<MissingCalls> {
  const { calls } = threadState(view.state, view.session.thread_id);
  const open = new Set(calls.flatMap(({ id, answered }) => (answered ? [] : [id])));
  return await missingCalls(deps.store.events, view.key, { hand, open });
}
