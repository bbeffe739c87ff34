import { randomBytes } from "node:crypto";
import { answer, type Script, text, toolResultsOf } from "@drover/testing";
import { describe, expect, test } from "vitest";
import { newEnvironment } from "../core/environments/definition.ts";
import { contextMessages } from "../core/harness/context.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { Secret } from "../lib/secret.ts";
import { type BrainWorld, createBrainWorld } from "../testing/brain.ts";
import { brokenLogRules } from "../testing/log-rules.ts";
import { recordedLogs } from "../testing/recorded-logs.ts";
import { createEnvelopeBox } from "../vault/envelope-box.ts";
import { givenKeys } from "../vault/given-keys.ts";
import { forkSession } from "./sessions-fork.ts";
import { createSkillReferences } from "./skill-references.ts";

const GO_ON: Script = (request) =>
  toolResultsOf(request).size > 0 ? answer(text("With results.")) : answer(text("Going on."));

const secretBox = createEnvelopeBox(
  givenKeys([new Secret(randomBytes(32).toString("base64"))], "the test"),
);

describe.each(recordedLogs())("$file", ({ log }) => {
  test("every event can be forked at: the fork is at rest, and goes on", async () => {
    await using brain = await createBrainWorld({
      script: GO_ON,
      tools: { "*": () => "done" },
      firstId: 1_000_000,
    });
    const source = await brain.sessionWith(log);
    await prepare(brain, source);
    const before = await brain.log(source);
    for (const [index, event] of log.entries()) {
      const key = await fork(brain, source, event.id);
      const made = await brain.log(key);
      const prefix = log.slice(0, index + 1);
      expect(made.slice(0, index + 1).map(({ type }) => type)).toEqual(
        prefix.map(({ type }) => type),
      );
      expect(made[index + 1]).toMatchObject({
        type: "drover.forked",
        private: { session_id: source.sessionId, event_id: event.id },
      });
      const old = new Set(idsIn(log));
      const kept = made.filter(({ type }) => type !== "drover.forked");
      expect(idsIn(kept).filter((id) => old.has(id))).toEqual([]);
      expect(blocksIn(made)).toBe(blocksIn(prefix));
      expect(brokenLogRules(withoutMark(made)), `after ${index + 1} events`).toEqual([]);
      expect((await brain.store.sessions.find(key))?.status).toBe("idle");
      const executions = brain.hands.executions.length;
      await brain.run();
      expect(await brain.log(key), "a fork does nothing by itself").toEqual(made);
      expect(brain.hands.executions).toHaveLength(executions);
      await brain.send(key, "Go on.");
      await brain.run();
      const continued = await brain.log(key);
      expect(brokenLogRules(continued), `going on after ${index + 1} events`).toEqual([]);
      expect(continued.at(-1)?.public).toMatchObject({ stop_reason: { type: "end_turn" } });
      expect(contextMessages(continued).at(-1)).toMatchObject({ role: "assistant" });
    }
    expect(await brain.log(source)).toEqual(before);
  });
});

/** The log as if a fork that needs no closing ended where it was cut: the rules want idle last. */
function withoutMark(log: readonly LogEvent[]): readonly LogEvent[] {
  return log.at(-1)?.type === "drover.forked" ? log.slice(0, -1) : log;
}

async function prepare(brain: BrainWorld, { workspaceId }: SessionKey): Promise<void> {
  await brain.run();
  await brain.store.write((tx) =>
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

async function fork(brain: BrainWorld, key: SessionKey, eventId: string): Promise<SessionKey> {
  const options = {
    store: brain.store,
    secretBox,
    skillReferences: createSkillReferences([]),
    prices: brain.deps.prices,
  };
  const params = { event_id: eventId, workspace: "empty" } as const;
  const response = await forkSession(options, { key, params }, async (effect) =>
    Response.json(await brain.store.write(effect)),
  );
  const { id } = (await response.json()) as { id: string };
  return { workspaceId: key.workspaceId, sessionId: id };
}

function idsIn(log: readonly LogEvent[]): string[] {
  const text = JSON.stringify(
    log.map(({ id, thread_id, public: shown, private: hidden }) => [id, thread_id, shown, hidden]),
  );
  return [...text.matchAll(/"((?:sevt|sthr|sesn)_[^"]+)"/g)].map(([, id = ""]) => id);
}

/** What goes back to the model byte for byte. */
function blocksIn(log: readonly LogEvent[]): string {
  return JSON.stringify(
    log.flatMap(({ private: hidden }) => ("blocks" in hidden ? [hidden.blocks] : [])),
  );
}
