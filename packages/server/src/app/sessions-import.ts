import { SessionAgent, type SessionImportQuery } from "@drover/api";
import { type NetworkSetting, sandboxNetwork } from "../core/egress/sandbox-network.ts";
import { ConflictError, InvalidRequestError, NotImplementedError } from "../core/errors.ts";
import { type Closing, forkDrafts } from "../core/harness/fork.ts";
import { memoryMountsOf } from "../core/memory/mounts.ts";
import type { Blobs } from "../core/ports/blobs.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { SandboxBase } from "../core/ports/hands.ts";
import type { NewSession } from "../core/ports/sessions.ts";
import type { Store, StoreTransaction } from "../core/ports/store.ts";
import type { PriceList } from "../core/pricing/price-list.ts";
import {
  chosenProvider,
  DEFAULT_PROVIDERS,
  type ServerProviders,
} from "../core/sandboxes/chosen-provider.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { totalsOf } from "../core/session/totals.ts";
import { transplanted } from "../core/session/transplant.ts";
import type { FileLine, SessionLine } from "../core/sessions/session-file.ts";
import { sessionPackages } from "../core/sessions/session-packages.ts";
import { unsupportedParts } from "../core/sessions/unsupported.ts";
import { workspaceNote } from "../core/sessions/workspace-at.ts";
import { derivedId, newId } from "../lib/new-id.ts";
import { importedEvent } from "./imported-events.ts";
import { assertContents, assertResources } from "./imported-session.ts";
import { SessionFileReader } from "./session-file-reader.ts";
import { assertBudgetable } from "./sessions-budget.ts";
import {
  addEvents,
  type CopiedLog,
  checkpointOf,
  draftingOf,
  EMPTY_LOG,
  withCopy,
} from "./sessions-copy.ts";
import { getEnvironment } from "./sessions-create.ts";
import { existing, toSession, type Wire } from "./sessions-wire.ts";

/** Written in one transaction. */
const STEP_EVENTS = 100;
const STEP_BYTES = 4 * 1024 * 1024;
/** Events of one log. */
const EVENTS_MAX = 1_000_000;

export interface ImportOptions {
  readonly store: Store;
  readonly blobs: Pick<Blobs, "put">;
  readonly clock: Pick<Clock, "now">;
  readonly prices: PriceList;
  readonly networkSetting?: NetworkSetting | undefined;
  /** See `AppDeps`. */
  readonly sandboxBase?: SandboxBase | undefined;
  readonly providers?: ServerProviders | undefined;
  readonly dockerImage?: string | undefined;
  /** See `createFiles`. */
  readonly filesBytesMax?: number | undefined;
}

interface ImportRequest {
  readonly workspaceId: string;
  /** Of the key that asks for it. */
  readonly keyId?: string;
  readonly query: SessionImportQuery;
  readonly content: AsyncIterable<Uint8Array>;
}

/** The last change; `body` tells this request from others. */
type Finish = (effect: (tx: StoreTransaction) => Promise<Wire>, body: string) => Promise<Response>;

/** What is being made, and the names that things of the file have in it. */
interface Import {
  readonly options: ImportOptions;
  readonly request: ImportRequest;
  readonly key: SessionKey;
  readonly line: SessionLine;
  readonly session: NewSession;
  readonly rename: (id: string) => string;
}

/**
 * Makes a session from a file that `exportSession` wrote: all of it or nothing. Its log, its files and what
 * it shows are as they were there; it has a new sandbox, and goes on from where it was if it was at rest.
 * What was open is closed, as in a fork.
 */
export async function importSession(
  options: ImportOptions,
  request: ImportRequest,
  finish: Finish,
): Promise<Response> {
  const file = new SessionFileReader(request.content);
  const read = await file.session();
  assertResources(read.session);
  const made = await supported(begin(options, request, read));
  return await withCopy(options.store, made.session, async () => {
    const log = await importEvents(made, file);
    // Before what may be much is read.
    noteOf(made, log);
    assertBudget(made, log);
    const sizes = await importContents(made, file);
    const { files, sha256 } = await file.filesAndEnd();
    assertContents(made.line, files, sizes);
    return await finish((tx) => finishImport(tx, made, { log, files }), sha256);
  });
}

function begin(
  options: ImportOptions,
  request: ImportRequest,
  { session: line, value }: { session: SessionLine; value: unknown },
): Import {
  // As it was received, for the schemas would put its fields into their own order.
  const given = value as SessionLine;
  const id = request.query.new_ids === true ? newId("sesn") : line.id;
  const rename = (old: string) => renamed(old, line.id, id);
  const session: NewSession = {
    workspace_id: request.workspaceId,
    id,
    thread_id: rename(line.thread_id),
    hand_id: newId("hand"),
    status: "idle",
    title: line.title,
    metadata: given.metadata,
    environment_id: request.query.environment_id ?? line.environment_id,
    agent: { ...given.agent },
    resources: given.resources.map((one) => renamedResource({ ...one }, rename)),
    vault_ids: line.vault_ids,
    recipe: {
      provider: DEFAULT_PROVIDERS[0],
      base: { type: "host" },
      mounts: [
        ...line.mounts.map((mount) =>
          mount.type === "skill" ? { ...mount, source: "workspace" as const } : mount,
        ),
        ...memoryMountsOf(line.resources),
      ],
      network: { type: "none" },
    },
    // Its log tells.
    budget: null,
    totals: given.totals as NewSession["totals"],
    ...(request.keyId !== undefined && { created_by: request.keyId }),
    created_at: line.created_at,
  };
  const key = { workspaceId: request.workspaceId, sessionId: id };
  return { options, request, key, line, session, rename };
}

function renamed(id: string, from: string, to: string): string {
  if (from === to) return id;
  if (id === from) return to;
  return id.startsWith("sesn_") ? id : derivedId(id, to);
}

function renamedResource(
  resource: Readonly<Record<string, unknown>>,
  rename: (id: string) => string,
): Readonly<Record<string, unknown>> {
  const { id, file_id } = resource;
  return {
    ...resource,
    ...(typeof id === "string" && { id: rename(id) }),
    ...(typeof file_id === "string" && { file_id: rename(file_id) }),
  };
}

/** With the provider, network, base and packages of the environment that it is to live in, here. */
async function supported(made: Import): Promise<Import> {
  const { options, session } = made;
  const { workspace_id, environment_id } = session;
  const environment = await getEnvironment(options.store, workspace_id, environment_id);
  const agent = SessionAgent.parse(session.agent);
  const unsupported = unsupportedParts(agent, environment.config, {});
  if (unsupported.length > 0) {
    throw new NotImplementedError(`not implemented in this version: ${unsupported.join(", ")}`);
  }
  const network = sandboxNetwork({
    setting: options.networkSetting,
    environment: environment.config,
    mcpServers: agent.mcp_servers,
  });
  const base = options.sandboxBase ?? { type: "host" };
  const provider = chosenProvider(environment.metadata, options.providers);
  const packages = sessionPackages({
    environment: environment.config,
    setting: options.networkSetting,
    base,
    ...{ provider, dockerImage: options.dockerImage },
  });
  const place = { provider, base, ...(packages !== undefined && { packages }), network };
  return { ...made, session: { ...session, recipe: { ...session.recipe, ...place } } };
}

async function importEvents(made: Import, file: SessionFileReader): Promise<CopiedLog> {
  const { options, key, line, rename } = made;
  const nowMs = options.clock.now();
  let log = EMPTY_LOG;
  let step: LogEvent[] = [];
  let [bytes, count] = [0, 0];
  const write = async () => {
    log = await addEvents(options.store, key, step, log);
    [step, bytes] = [[], 0];
  };
  for await (const raw of file.events()) {
    count += 1;
    if (count > EVENTS_MAX) {
      throw new InvalidRequestError(`${raw.place}: more than ${EVENTS_MAX} events`);
    }
    const after = step.at(-1)?.processed_at ?? log.until ?? "";
    const event = importedEvent(raw, { threadId: line.thread_id, seq: count, after, nowMs });
    step.push(line.id === key.sessionId ? event : transplanted(event, rename));
    bytes += raw.bytes;
    if (step.length >= STEP_EVENTS || bytes >= STEP_BYTES) await write();
  }
  await write();
  return log;
}

/** The sizes of what came, by hash. What the hash says otherwise is refused, and collected later. */
async function importContents(
  { options, request, key }: Import,
  file: SessionFileReader,
): Promise<ReadonlyMap<string, number>> {
  const { store, blobs } = options;
  const sizes = new Map<string, number>();
  for await (const { sha256, size_bytes, bytes } of file.contents()) {
    await store.write((tx) => tx.copies.hold(key, sha256));
    const stored = await blobs.put(request.workspaceId, bytes);
    if (stored.sha256 !== sha256) {
      await store.write((tx) => tx.looseBlobs.add(request.workspaceId, stored.sha256));
      throw new InvalidRequestError(`the content ${sha256} is another one`);
    }
    sizes.set(sha256, size_bytes);
  }
  return sizes;
}

async function finishImport(
  tx: StoreTransaction,
  made: Import,
  { log, files }: { log: CopiedLog; files: readonly FileLine[] },
): Promise<Wire> {
  const { key, line, session } = made;
  await getEnvironment(tx, session.workspace_id, session.environment_id);
  await insertFiles(tx, made, files);
  const closing = closingOf(made, log, tx.now);
  const { state } = closing ?? log;
  await tx.copies.finish({
    ...session,
    status: state.status,
    // What it shows is what it showed, unless something had to be closed.
    totals: { ...totalsOf(state, tx.now), ...(wasAtRest(closing) && session.totals) },
    budget: state.budget,
    updated_at: line.updated_at,
    archived_at: archivedAt(line, log),
    epoch: log.epoch,
    checkpoint: checkpointOf(log),
  });
  if (closing !== undefined) await tx.events.appendReceipts(key, closing.drafts);
  return toSession(existing(await tx.sessions.find(key), key), tx.now);
}

/** As for a new session; one that is over asks no model any more. */
function assertBudget({ options, session }: Import, { state }: CopiedLog): void {
  if (state.budget === null || state.status === "terminated") return;
  assertBudgetable(SessionAgent.parse(session.agent), options.prices);
}

/** Undefined for a session at rest whose sandbox was never used: it stays as it was. */
function closingOf(made: Import, log: CopiedLog, now: string): Closing | undefined {
  const { state, until } = log;
  const note = noteOf(made, log);
  if (state.status === "terminated") return undefined;
  const origin = { session_id: made.line.id, event_id: null, until, note };
  const closing = forkDrafts(log, origin, draftingOf(made.session, made.options.prices, now));
  return note === null && wasAtRest(closing) ? undefined : closing;
}

/** True if nothing had to be closed: there is nothing but the mark, if that. */
function wasAtRest(closing: Closing | undefined): boolean {
  return closing === undefined || closing.drafts.length === 1;
}

function noteOf({ request }: Import, log: CopiedLog): string | null {
  if (log.state.status === "terminated") return null;
  return workspaceNote(log.workspace.at, request.query.workspace);
}

function archivedAt({ archived_at }: SessionLine, { state }: CopiedLog): string | null {
  if (archived_at === null || state.status === "terminated") return archived_at;
  throw new InvalidRequestError(
    "line 2: archived_at: its log does not end in session.status_terminated",
  );
}

async function insertFiles(
  tx: StoreTransaction,
  { key, rename, options }: Import,
  files: readonly FileLine[],
): Promise<void> {
  const { workspaceId, sessionId } = key;
  for (const file of files) {
    const id = rename(file.id);
    if ((await tx.files.find(workspaceId, id)) !== undefined) {
      throw new ConflictError(`there is a file ${id} here already`);
    }
    await tx.files.insert({ ...file, id, workspace_id: workspaceId, session_id: sessionId });
  }
  const { filesBytesMax } = options;
  if (filesBytesMax === undefined || files.length === 0) return;
  if ((await tx.files.contentBytes(workspaceId)) <= filesBytesMax) return;
  throw new InvalidRequestError(
    `with its files the workspace would have more than ${filesBytesMax} bytes; delete files`,
    { code: "storage_quota_exceeded" },
  );
}
