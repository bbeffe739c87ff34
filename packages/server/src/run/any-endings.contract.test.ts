import type { ClientEventParams } from "@drover/api";
import {
  type Answer,
  answer,
  failing,
  type MessagesRequest,
  overloaded,
  type Script,
  thinking,
  toolCall,
} from "@drover/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { BARE_POLICIES, DEFAULT_POLICIES } from "../core/harness/policies.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { type BrainWorld, createBrainWorld } from "../testing/brain.ts";
import { brokenLogRules } from "../testing/log-rules.ts";

const good = toolCall("read", { file_path: "a" });
const bad = { ...toolCall("read"), inputJson: "{file_path" };

/** What a model may answer, or fail with. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  text: answer("Well."),
  empty: answer(),
  thinking: answer(thinking("hm")),
  call: answer("I look.", good),
  calls: answer(good, good),
  bad: answer(bad),
  mixed: answer(thinking("hm"), good, bad),
  cut: { ...answer("I write.", bad), stop_reason: "max_tokens" },
  "call and cut": { ...answer(good, bad), stop_reason: "max_tokens" },
  "cut text": { ...answer("Half of a"), stop_reason: "max_tokens" },
  pause: { ...answer("Wait."), stop_reason: "pause_turn" },
  "empty pause": { ...answer(), stop_reason: "pause_turn" },
  refusal: { ...answer("No.", good), stop_reason: "refusal" },
  "tool_use without a call": { ...answer("Well."), stop_reason: "tool_use" },
  "no reason": { ...answer(good), stop_reason: null },
  future: { ...answer(), stop_reason: "moon_phase" },
  full: { ...answer("Half of a"), stop_reason: "model_context_window_exceeded" },
  overloaded: overloaded(),
  broken: failing({ type: "cut", afterEvents: 5 }, "I look.", good),
  unauthorised: failing({ type: "status", status: 401 }),
};

const REFUSED_PICTURE = failing({
  type: "status",
  status: 400,
  error_type: "invalid_request_error",
  message: "Could not process image",
});

/** Follows the newest list of answers, as far as responses have followed it, and then says that it is done. */
function follower(): Script {
  let requests = 0;
  return (request) => {
    const said = JSON.stringify(request.body["messages"]);
    if (said.includes("unreachable.png")) return REFUSED_PICTURE;
    const { names, place } = newestList(request);
    const name = names[place % names.length] ?? "text";
    requests += 1;
    // What never works would only be asked for until the turn is given up.
    const isFault = ANSWERS[name]?.fault !== undefined && requests % 2 === 0;
    if (place >= names.length || isFault) return answer("Done.");
    return ANSWERS[name] ?? answer("Done.");
  };
}

interface Message {
  readonly role: string;
  readonly content: readonly { readonly type: string; readonly text?: string }[];
}

function newestList({ body }: MessagesRequest): { names: readonly string[]; place: number } {
  let place = 0;
  for (const { role, content } of (
    body["messages"] as unknown as readonly Message[]
  ).toReversed()) {
    if (role === "assistant") place += 1;
    for (const { text = "" } of role === "user" ? content.toReversed() : []) {
      if (text.startsWith("Your last answer was empty")) place += 1;
      if (text.startsWith("[") && text.endsWith("]") && !text.startsWith("[An ")) {
        return { names: JSON.parse(text), place };
      }
    }
  }
  return { names: [], place };
}

type Command =
  | {
      readonly type: "message";
      readonly names: readonly string[];
      readonly hasPicture: boolean;
      readonly hasSystem: boolean;
    }
  | { readonly type: "interrupt" }
  | { readonly type: "run"; readonly killAt: number };

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant("message" as const),
      names: fc.array(fc.constantFrom(...Object.keys(ANSWERS)), { minLength: 1, maxLength: 5 }),
      hasPicture: fc.boolean(),
      hasSystem: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ type: "interrupt" as const }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant("run" as const),
      killAt: fc.oneof(fc.constant(0), fc.integer({ min: 5, max: 30 })),
    }),
  },
);

function eventsOf(given: Exclude<Command, { type: "run" }>): readonly ClientEventParams[] {
  if (given.type === "interrupt") return [{ type: "user.interrupt" }];
  const picture = {
    type: "image" as const,
    source: { type: "url" as const, url: "https://example.com/unreachable.png" },
  };
  const list = { type: "text" as const, text: JSON.stringify(given.names) };
  const content = given.hasPicture ? [picture, list] : [list];
  const system = [{ type: "text" as const, text: "Be brief." }];
  return [
    { type: "user.message", content },
    ...(given.hasSystem ? [{ type: "system.message" as const, content: system }] : []),
  ];
}

async function settled(brain: BrainWorld): Promise<void> {
  for (let processes = 0; processes < 10; processes++) {
    if ((await brain.run()).trace.length === 2) return;
  }
  throw new Error("the session does not come to rest");
}

const lastStop = (log: readonly LogEvent[]) => {
  const idle = log.findLast(({ type }) => type === "session.status_idle");
  return idle?.type === "session.status_idle" ? idle.public.stop_reason.type : undefined;
};

test.each([
  ["with every policy", DEFAULT_POLICIES],
  ["without any", BARE_POLICIES],
])(
  "%s: whatever a model answers and whoever dies, every turn ends and the next one works",
  async (_, policies) => {
    // Disposing of it fails on a conversation that the strict double has refused.
    await using brain = await createBrainWorld({
      script: follower(),
      tools: { read: () => "content" },
      policies,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 2, maxLength: 8 }), async (commands) => {
        const key = await brain.newSession();
        for (const given of commands) {
          if (given.type === "run") await brain.run(given.killAt);
          else await brain.post(key, ...eventsOf(given));
        }
        await settled(brain);
        const text = [{ type: "text" as const, text: "[]" }];
        // Without the policy a picture that is refused fails every later turn as well: that is what it is for.
        const isStuck =
          policies === BARE_POLICIES && commands.some((c) => c.type === "message" && c.hasPicture);
        await brain.post(key, { type: "user.message", content: text });
        await settled(brain);
        const log = await brain.log(key);
        expect(brokenLogRules(log)).toEqual([]);
        if (!isStuck) expect(lastStop(log)).toBe("end_turn");
        const runs = brain.hands.executions.map(({ callId }) => callId);
        expect(new Set(runs).size).toBe(runs.length);
      }),
      { numRuns: 30 },
    );
  },
);
