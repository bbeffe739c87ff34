import { SessionAgent, type SessionForkParams } from "@drover/api";
import { forkedSessionAgent } from "../core/agents/session-agent.ts";
import { InvalidRequestError, NotFoundError, NotImplementedError } from "../core/errors.ts";
import { forkDrafts } from "../core/harness/fork.ts";
import type { Checkpoints } from "../core/ports/checkpoints.ts";
import type { EventReader, SessionKey } from "../core/ports/event-log.ts";
import type { SecretCarrier } from "../core/ports/secret-carrier.ts";
import type { NewSession, SessionRecord } from "../core/ports/sessions.ts";
import type { Store, StoreTransaction } from "../core/ports/store.ts";
import type { PriceList } from "../core/pricing/price-list.ts";
import { totalsOf } from "../core/session/totals.ts";
import { transplanted } from "../core/session/transplant.ts";
import { unsupportedAgentParts } from "../core/sessions/unsupported.ts";
import { workspaceNote } from "../core/sessions/workspace-at.ts";
import { derivedId, newId } from "../lib/new-id.ts";
import { assertUntouchedSince, withCheckpoint, workspaceAt } from "./fork-workspace.ts";
import { keyOf } from "./input.ts";
import { assertBudgetable } from "./sessions-budget.ts";
import { carriedResources, type MovedTokens, moveTokens } from "./sessions-carry.ts";
import { type CopiedLog, checkpointOf, copyLog, draftingOf, withCopy } from "./sessions-copy.ts";
import { getEnvironment } from "./sessions-create.ts";
import { existing, getSessionRecord, toSession, type Wire } from "./sessions-wire.ts";
import type { SkillReferences } from "./skill-references.ts";

export interface ForkOptions {
  readonly store: Store;
  readonly secretCarrier: SecretCarrier;
  readonly skillReferences: SkillReferences;
  readonly prices: PriceList;
  readonly checkpoints: Checkpoints;
}

/** The last change, in whose transaction the answer is kept for retries. */
type Finish = (effect: (tx: StoreTransaction) => Promise<Wire>) => Promise<Response>;

interface ForkRequest {
  readonly key: SessionKey;
  /** Of the key that asks for it. */
  readonly keyId?: string;
  readonly params: SessionForkParams;
}

/** Where a log is cut off. */
interface ForkPoint {
  readonly seq: number;
  /** Null for an empty log. */
  readonly eventId: string | null;
}

/**
 * Makes a session whose log begins with that of another one, up to and including an event, under new ids.
 * The other one is not touched. What was open at that place is closed, so that the fork waits for its
 * user; input that was not taken up yet is no part of it.
 */
export async function forkSession(
  options: ForkOptions,
  { key, keyId, params }: ForkRequest,
  finish: Finish,
): Promise<Response> {
  const { store } = options;
  const source = await getSessionRecord(store.sessions, key);
  const point = await forkPoint(store.events, source, params.event_id ?? undefined);
  const workspace = await workspaceAt(store.events, source, point.seq);
  const note = workspaceNote(workspace, params.workspace);
  const agent = await forkAgent(options, source, params.agent);
  const begins = workspace.type === "begun" && note === null ? source.recipe.checkpoint : undefined;
  const recipe = beginningWith(await forkRecipe(options, source, { agent, params }), begins);
  const id = newId("sesn");
  const rename = (old: string) => renamed(old, source, id);
  const session: NewSession = {
    ...definitionOf(source),
    ...(keyId !== undefined && { created_by: keyId }),
    id,
    thread_id: rename(source.thread_id),
    hand_id: newId("hand"),
    agent,
    recipe,
    ...(params.title !== undefined && { title: params.title }),
    ...(params.metadata !== undefined && { metadata: params.metadata }),
  };
  const from = keyOf(source);
  const to = { workspaceId: key.workspaceId, sessionId: id };
  const takesFiles = workspace.type === "present" && note === null;
  const carrying = { sessions: store.sessions, carrier: options.secretCarrier };
  const moved = await moveTokens(carrying, source, to);
  return await withCopy(store, session, async () => {
    const log = await copyLog(store, { from, to, seq: point.seq }, (event) =>
      transplanted(event, rename),
    );
    if (log.state.status === "terminated") throw terminated(source);
    if (log.state.budget !== null) assertBudgetable(agent, options.prices);
    const made = takesFiles
      ? await withCheckpoint(options, { source, state: log.state, session }, recipe)
      : recipe;
    const finishing = { options, source, session: { ...session, recipe: made }, point, note, log };
    return await finish((tx) => finishFork(tx, { ...finishing, takesFiles, moved }));
  });
}

interface Finishing {
  readonly options: ForkOptions;
  readonly source: SessionRecord;
  readonly session: NewSession;
  readonly point: ForkPoint;
  readonly note: string | null;
  readonly log: CopiedLog;
  readonly takesFiles: boolean;
  readonly moved: MovedTokens;
}

async function finishFork(
  tx: StoreTransaction,
  { options, source, session, point, note, log, takesFiles, moved }: Finishing,
): Promise<Wire> {
  // Its files and secrets are copied here and now, if it is still there.
  const current = existing(await tx.sessions.lock(keyOf(source)), keyOf(source));
  if (takesFiles) await assertUntouchedSince(tx.events, source, point.seq);
  await getEnvironment(tx, source.workspace_id, source.environment_id);
  const key = { workspaceId: session.workspace_id, sessionId: session.id };
  const carried = await carriedResources(tx, {
    source: current,
    key,
    moved,
  });
  const origin = { session_id: source.id, event_id: point.eventId, until: log.until, note };
  const { drafts, state } = forkDrafts(log, origin, draftingOf(session, options.prices, tx.now));
  await tx.copies.finish({
    ...session,
    resources: carried.resources,
    recipe: withFilesOf(session.recipe, current.recipe),
    // As it was at that place, as everything else that the log tells.
    budget: state.budget,
    status: state.status,
    totals: totalsOf(state, tx.now),
    created_at: tx.now,
    updated_at: tx.now,
    archived_at: null,
    epoch: log.epoch,
    checkpoint: checkpointOf(log),
  });
  for (const [resourceId, sealed] of carried.tokens) {
    await tx.sessions.putRepositoryToken(key, resourceId, sealed);
  }
  await tx.events.appendReceipts(key, drafts);
  return toSession(existing(await tx.sessions.find(key), key), tx.now);
}

/** What a fork has of the session it is made from unless it is given something else. */
function definitionOf(source: SessionRecord): NewSession {
  const { updated_at, archived_at, deleted_at, last_seq, input_seq, input_at, ...rest } = source;
  const { created_by: _, ...own } = rest;
  return { ...own, status: "idle", totals: { usage: {}, stats: {} } };
}

/** Other sessions' ids stay what they are: nothing in the log stands for them. */
function renamed(id: string, source: SessionRecord, copyId: string): string {
  if (id === source.id) return copyId;
  return id.startsWith("sesn_") ? id : derivedId(id, copyId);
}

async function forkPoint(
  events: EventReader,
  source: SessionRecord,
  eventId: string | undefined,
): Promise<ForkPoint> {
  const key = keyOf(source);
  if (eventId !== undefined) {
    const seq = await events.findSeq(key, eventId);
    if (seq !== undefined) return { seq, eventId };
    const waits = (await events.getInbox(key)).some(({ id }) => id === eventId);
    if (!waits) throw new NotFoundError(`event_id: session ${source.id} has no event ${eventId}`);
    throw new InvalidRequestError(
      `event_id: event ${eventId} waits to be taken up and has no place in the log yet; try again once it has a processed_at`,
    );
  }
  const end = await terminationSeq(events, source);
  const before = end === undefined ? {} : { before: end };
  const [last] = await events.getEvents(key, { ...before, order: "desc", limit: 1 });
  return last === undefined ? { seq: 0, eventId: null } : { seq: last.seq, eventId: last.id };
}

/** An archived session is forked as it was before it was. */
async function terminationSeq(
  events: EventReader,
  source: SessionRecord,
): Promise<number | undefined> {
  if (source.status !== "terminated") return undefined;
  const [first] = await events.getEvents(keyOf(source), {
    types: ["session.thread_status_terminated", "session.status_terminated"],
    threadId: source.thread_id,
    limit: 1,
  });
  return first?.seq;
}

function terminated(source: SessionRecord): InvalidRequestError {
  return new InvalidRequestError(
    `event_id: session ${source.id} is terminated at this event, and so would be its fork; choose an earlier one, or leave event_id out`,
  );
}

async function forkAgent(
  { store, skillReferences }: ForkOptions,
  source: SessionRecord,
  overrides: SessionForkParams["agent"],
): Promise<NewSession["agent"]> {
  if (overrides === undefined) return source.agent;
  const { workspace_id: workspaceId } = source;
  const skills = await skillReferences.pinned(store, workspaceId, overrides.skills, "agent.skills");
  const agent = forkedSessionAgent(SessionAgent.parse(source.agent), { ...overrides, skills });
  const unsupported = unsupportedAgentParts(agent);
  if (unsupported.length > 0) {
    throw new NotImplementedError(`not implemented in this version: ${unsupported.join(", ")}`);
  }
  return { ...agent };
}

/** Other skills are mounted in place of those before; what users put there stays. */
async function forkRecipe(
  { store, skillReferences }: ForkOptions,
  { workspace_id, recipe }: SessionRecord,
  { agent, params }: { agent: NewSession["agent"]; params: SessionForkParams },
): Promise<NewSession["recipe"]> {
  if (params.agent?.skills === undefined) return recipe;
  const { skills } = SessionAgent.parse(agent);
  const mounts = await skillReferences.mounts(store, workspace_id, skills);
  return withFilesOf({ ...recipe, mounts }, recipe);
}

function withFilesOf(recipe: NewSession["recipe"], { mounts }: NewSession["recipe"]) {
  const isSkill = ({ type }: (typeof mounts)[number]) => type === "skill";
  const others = mounts.filter((mount) => !isSkill(mount));
  return { ...recipe, mounts: [...recipe.mounts.filter(isSkill), ...others] };
}

function beginningWith(
  { checkpoint: _other, ...recipe }: NewSession["recipe"],
  checkpoint: NewSession["recipe"]["checkpoint"],
): NewSession["recipe"] {
  return { ...recipe, ...(checkpoint !== undefined && { checkpoint }) };
}
