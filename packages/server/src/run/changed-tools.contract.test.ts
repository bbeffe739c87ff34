import type { SessionAgent } from "@drover/api";
import { answer, type MessagesRequest, text, toolCall, toolResultsOf } from "@drover/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { updateSession } from "../app/sessions-update.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import { BUILTIN_TOOLS } from "../core/tools/builtin-tools.ts";
import { offeredTools } from "../core/tools/offered-tools.ts";
import { type BrainWorld, createBrainWorld } from "../testing/brain.ts";
import { brokenLogRules } from "../testing/log-rules.ts";
import { SessionView } from "./session-view.ts";

const AGENT: SessionAgent = {
  type: "agent",
  id: "agent_1",
  version: 1,
  name: "tester",
  description: null,
  system: "Be brief.",
  model: { id: "claude-opus-5-5", effort: { type: "high" }, speed: "standard" },
  tools: [],
  mcp_servers: [],
  skills: [],
  execution_identity: { type: "service_account" },
  multiagent: null,
};
const NAMES = ["bash", "read", "write"] as const;
type Name = (typeof NAMES)[number];

/** What a client does: between two turns, or to start one. */
const moves = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant("set" as const), tools: fc.subarray([...NAMES]) }),
    fc.record({ do: fc.constant("call" as const), tool: fc.constantFrom(...NAMES) }),
  ),
  { minLength: 2, maxLength: 10 },
);

/** Calls the tool that the user names, then says so. */
function script(request: MessagesRequest) {
  if (toolResultsOf(request).size > 0) return answer(text("Done."));
  return answer(toolCall(request.lastUserText, {}));
}

function world(): Promise<BrainWorld> {
  return createBrainWorld({
    script,
    tools: { bash: () => "ran", read: () => "read", write: () => "wrote" },
  });
}

async function equippedSession(brain: BrainWorld): Promise<SessionKey> {
  const key = await brain.newSession();
  await brain.store.write((tx) => tx.sessions.update(key, { agent: { ...AGENT } }));
  return key;
}

async function setTools(brain: BrainWorld, key: SessionKey, names: readonly Name[]): Promise<void> {
  const configs = names.map((name) => ({ name, enabled: true }));
  const toolset = {
    type: "agent_toolset_20260401" as const,
    default_config: { enabled: false },
    configs,
  };
  const tools = names.length === 0 ? [] : [toolset];
  const update = { params: { agent: { tools } }, prices: brain.deps.prices };
  await brain.store.write((tx) => updateSession(tx, key, update));
}

const deps = (brain: BrainWorld) => ({
  ...brain.deps,
  toolsOf: ({ agent }: { agent: { tools: readonly unknown[] } }) => offeredTools(agent.tools),
});

test("whatever tools come and go between turns, the next request has them and is accepted", async () => {
  await fc.assert(
    fc.asyncProperty(moves, async (list) => {
      // Disposing of it fails if the double refused a request.
      await using brain = await world();
      const key = await equippedSession(brain);
      let offered: readonly Name[] = [];
      for (const move of list) {
        if (move.do === "set") {
          offered = move.tools;
          await setTools(brain, key, move.tools);
          continue;
        }
        const ran = brain.hands.executions.length;
        await brain.send(key, move.tool);
        await brain.run(0, deps(brain));
        const isOffered = offered.includes(move.tool);
        expect(brain.hands.executions.length - ran).toBe(isOffered ? 1 : 0);
        const sent = brain.api.requests.slice(-2).map(({ body }) => namesOf(body["tools"]));
        const expected = BUILTIN_TOOLS.map(({ name }) => name).filter((name) =>
          offered.some((each) => each === name),
        );
        for (const names of sent)
          expect(names.filter((name) => name !== "no_tool")).toEqual(expected);
      }
      const log = await brain.log(key);
      if (list.at(-1)?.do === "call") expect(brokenLogRules(log)).toEqual([]);
    }),
    { numRuns: 15 },
  );
});

function namesOf(tools: unknown): readonly string[] {
  return Array.isArray(tools) ? tools.map((tool: { name: string }) => tool.name) : [];
}

test("a process that was reading the session when its tools changed has the new ones", async () => {
  await using brain = await world();
  const key = await equippedSession(brain);
  await brain.send(key, "read");
  await brain.run(0, deps(brain));
  const { events, sessions } = brain.store;
  let isFirst = true;
  const view = await SessionView.load(
    {
      events,
      sessions: {
        ...sessions,
        find: (wanted) => sessions.find(wanted),
        findCheckpoint: async (wanted) => {
          // Between reading the row and reading the log.
          if (isFirst) await setTools(brain, key, ["read"]);
          isFirst = false;
          return await sessions.findCheckpoint(wanted);
        },
      },
    },
    key,
  );
  expect(
    offeredTools(view?.session.agent.tools ?? []).map(({ definition }) => definition.name),
  ).toEqual(["read"]);
});

test("an update that comes between two appends is taken in with them", async () => {
  await using brain = await world();
  const key = await equippedSession(brain);
  const view = await SessionView.load(brain.store, key);
  await setTools(brain, key, ["write"]);
  await brain.send(key, "write");
  await brain.store.write((tx) => tx.queue.wake(key));
  const [claim] = await brain.store.write((tx) =>
    tx.queue.claim({ holder: "me", leaseMs: null, limit: 1 }),
  );
  const committed = await brain.store.write((tx) =>
    tx.events.append({
      ...key,
      epoch: claim?.epoch ?? 0,
      drafts: [
        {
          id: "sevt_x",
          type: "session.status_running",
          thread_id: view?.session.thread_id ?? "",
          cross_posted: false,
          public: {},
          private: {},
        },
      ],
    }),
  );
  await view?.committed(committed);
  expect(
    offeredTools(view?.session.agent.tools ?? []).map(({ definition }) => definition.name),
  ).toEqual(["write"]);
});
