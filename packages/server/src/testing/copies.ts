import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { exportSession } from "../app/sessions-export.ts";
import { forkSession } from "../app/sessions-fork.ts";
import { importSession } from "../app/sessions-import.ts";
import { createSkillReferences } from "../app/skill-references.ts";
import { newEnvironment } from "../core/environments/definition.ts";
import type { Checkpoints } from "../core/ports/checkpoints.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { Store, StoreTransaction } from "../core/ports/store.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { Secret } from "../lib/secret.ts";
import { MemoryBlobs } from "../store/memory-blobs.ts";
import { createEnvelopeBox } from "../vault/envelope-box.ts";
import { givenKeys } from "../vault/given-keys.ts";
import type { BrainWorld } from "./brain.ts";
import { inProcessCarrier } from "./in-process-trials.ts";
import { brokenLogRules } from "./log-rules.ts";

/** Sessions made from the sessions of a brain, and what must be true of every one of them. */

const secretBox = createEnvelopeBox(
  givenKeys([new Secret(randomBytes(32).toString("base64"))], "the test"),
);

export const NO_CHECKPOINTS: Checkpoints = {
  take: async () => ({ type: "unavailable", message: "there are no hands" }),
};

/** As sessions that were made through the API have it. */
export const AGENT = {
  type: "agent",
  id: "agent_1",
  name: "tester",
  version: 1,
  description: null,
  system: null,
  model: { id: "claude-opus-5-5" },
  tools: [],
  mcp_servers: [],
  skills: [],
  multiagent: null,
  execution_identity: { type: "service_account" },
} as const;

/** The environment of test sessions, which only copies look for. */
export async function addEnvironment(store: Store, workspaceId: string): Promise<void> {
  await store.write((tx) =>
    tx.environments.insert({
      workspace_id: workspaceId,
      id: "env_1",
      name: "here",
      created_at: tx.now,
      updated_at: tx.now,
      archived_at: null,
      body: { ...newEnvironment({ name: "here" }) },
    }),
  );
}

/** Forks at each event of the session, which may be in the middle of anything, and goes on with each. */
export async function forkEverywhere(brain: BrainWorld, source: SessionKey): Promise<void> {
  const log = await brain.log(source);
  const old = new Set(idsIn(log));
  for (const [index, event] of log.entries()) {
    const key = await forkAt(brain, source, event.id);
    const made = await brain.log(key);
    const prefix = log.slice(0, index + 1);
    expect(typesOf(made.slice(0, index + 1))).toEqual(typesOf(prefix));
    expect(made[index + 1]).toMatchObject({
      type: "drover.forked",
      private: { session_id: source.sessionId, event_id: event.id },
    });
    const kept = made.filter(({ type }) => type !== "drover.forked");
    expect(idsIn(kept).filter((id) => old.has(id))).toEqual([]);
    expect(blocksIn(made)).toBe(blocksIn(prefix));
    // Before its first turn, a log has nothing to end in.
    const isBegun = made.some(({ type }) => type.startsWith("session.status_"));
    const broken = isBegun ? brokenLogRules(withoutMark(made)) : [];
    expect(broken, `after ${index + 1} events`).toEqual([]);
    expect((await brain.store.sessions.find(key))?.status).toBe("idle");
    const executions = brain.hands.executions.length;
    await brain.run();
    expect(await brain.log(key), "a fork does nothing by itself").toEqual(made);
    expect(brain.hands.executions).toHaveLength(executions);
    await brain.send(key, "Go on.");
    await brain.run();
    const continued = await brain.log(key);
    expect(brokenLogRules(continued), `going on after ${index + 1} events`).toEqual([]);
    expect(continued.length).toBeGreaterThan(made.length + 2);
  }
  expect(await brain.log(source)).toEqual(log);
}

/** Writes the session to a file and makes another one of it, which must have the same log. */
export async function throughFile(brain: BrainWorld, source: SessionKey): Promise<void> {
  await brain.store.write((tx) => tx.sessions.update(source, { agent: AGENT }));
  const { store, clock } = brain;
  const blobs = new MemoryBlobs();
  const { bytes } = await exportSession({ store, blobs }, source);
  const query = { new_ids: true, workspace: "empty" } as const;
  const response = await importSession(
    { store, blobs, clock, prices: brain.deps.prices },
    { workspaceId: source.workspaceId, query, content: bytes },
    (effect) => answered(store, effect),
  );
  const { id } = (await response.json()) as { id: string };
  const log = await brain.log(source);
  const made = await brain.log({ workspaceId: source.workspaceId, sessionId: id });
  expect(typesOf(made.slice(0, log.length))).toEqual(typesOf(log));
  expect(blocksIn(made)).toBe(blocksIn(log));
}

async function forkAt(brain: BrainWorld, key: SessionKey, eventId: string): Promise<SessionKey> {
  const options = {
    store: brain.store,
    secretCarrier: inProcessCarrier(secretBox),
    skillReferences: createSkillReferences([]),
    prices: brain.deps.prices,
    checkpoints: NO_CHECKPOINTS,
  };
  const params = { event_id: eventId, workspace: "empty" } as const;
  const response = await forkSession(options, { key, params }, (effect) =>
    answered(brain.store, effect),
  );
  const { id } = (await response.json()) as { id: string };
  return { workspaceId: key.workspaceId, sessionId: id };
}

/** As the HTTP layer answers, without its retries. */
export async function answered(
  store: Store,
  effect: (tx: StoreTransaction) => Promise<unknown>,
): Promise<Response> {
  return Response.json(await store.write(effect));
}

/** The log as if a fork that needs no closing ended where it was cut: the rules want idle last. */
function withoutMark(log: readonly LogEvent[]): readonly LogEvent[] {
  return log.at(-1)?.type === "drover.forked" ? log.slice(0, -1) : log;
}

function typesOf(log: readonly LogEvent[]): readonly string[] {
  return log.map(({ type }) => type);
}

function idsIn(log: readonly LogEvent[]): readonly string[] {
  const bodies = log.map((event) => [event.id, event.thread_id, event.public, event.private]);
  const found = JSON.stringify(bodies).matchAll(/"((?:sevt|sthr|sesn)_[^"]+)"/g);
  return [...found].map(([, id = ""]) => id);
}

/** What goes back to the model byte for byte. */
function blocksIn(log: readonly LogEvent[]): string {
  return JSON.stringify(
    log.flatMap(({ private: hidden }) => ("blocks" in hidden ? [hidden.blocks] : [])),
  );
}
