import {
  answer,
  type ChatCompletions,
  type FlavourName,
  type JsonObject,
  type MessagesRequest,
  startChatCompletions,
  text,
  thinking,
  toolCall,
} from "@drover/testing";
import { describe, expect, test } from "vitest";
import { Secret } from "../lib/secret.ts";
import { Models } from "../model/models.ts";
import { type BrainWorld, createBrainWorld } from "../testing/brain.ts";
import { brokenLogRules, comparableLog } from "../testing/log-rules.ts";
import { testSession } from "../testing/session.ts";

const PNG = "iVBORw0KGgo=";
const MESSAGE = {
  type: "user.message" as const,
  content: [
    {
      type: "image" as const,
      source: { type: "base64" as const, data: PNG, media_type: "image/png" },
    },
    { type: "text" as const, text: "Read a and write b." },
  ],
};

/** Calls two tools at once, and then says that it is done. */
function twoTools({ body }: MessagesRequest) {
  const messages = body["messages"] as readonly JsonObject[];
  if (messages.some(({ role }) => role === "tool")) return answer("Done.");
  const calls = [toolCall("read", { path: "a" }), toolCall("write", { path: "b" })];
  return answer(thinking("Two at once."), text("I read and write."), ...calls);
}

async function openWorld(flavour: FlavourName) {
  const api = await startChatCompletions({ flavour, script: twoTools });
  const brain = await createBrainWorld({
    script: [answer("nobody asks here")],
    tools: { read: () => "content of a", write: () => "wrote 1 bytes to b" },
  });
  const deps = { ...brain.deps, model: modelsOf(api) };
  return {
    api,
    brain,
    deps,
    key: await brain.newSession(),
    [Symbol.asyncDispose]: async () => {
      await brain[Symbol.asyncDispose]();
      await api.close();
      expect([...api.refusals, ...brain.api.requests]).toEqual([]);
    },
  };
}

/** The session's model is a small one behind the double: no images, one tool at a time. */
function modelsOf(api: ChatCompletions): Models {
  const { id } = testSession().agent.model;
  const none = { line: null, deprecated_at: null, retires_at: null, capabilities: null };
  return new Models({
    providers: [
      {
        name: "local",
        kind: "chat_completions",
        baseUrl: api.url,
        apiKey: new Secret(api.apiKey),
        headers: {},
        leaveOut: [],
        maxTokensField: "max_tokens",
      },
    ],
    models: [
      {
        info: {
          ...none,
          id,
          type: "model",
          display_name: id,
          created_at: "1970-01-01T00:00:00Z",
          lifecycle: "active",
          max_input_tokens: null,
          max_tokens: 4_096,
          allowed_fallback_models: null,
        },
        aliases: [],
        hasFastMode: false,
        provider: "local",
        upstreamId: "small:8b",
        abilities: {
          images: false,
          pdf: false,
          parallelTools: false,
          thinking: true,
          systemMessages: false,
          efforts: [],
        },
      },
    ],
  });
}

type World = Awaited<ReturnType<typeof openWorld>>;

async function settled({ brain, deps }: World): Promise<void> {
  for (let processes = 0; processes < 5; processes++) {
    const { trace } = await brain.run(0, deps);
    if (trace.length === 2) return;
  }
  throw new Error("the session does not come to rest");
}

/** Runs the scenario once without dying, for its log and the number of steps at which one can die. */
async function undisturbed(flavour: FlavourName) {
  await using world = await openWorld(flavour);
  await world.brain.post(world.key, MESSAGE);
  const mortal = await world.brain.run(0, world.deps);
  return { log: await world.brain.log(world.key), steps: mortal.trace };
}

const errorsOf = (log: Awaited<ReturnType<BrainWorld["log"]>>) =>
  log.flatMap((event) => (event.type === "session.error" ? [event.public.error.message] : []));

test("what the model cannot take is put into words for it, and shown once to the user", async () => {
  await using world = await openWorld("openai");
  await world.brain.post(world.key, MESSAGE);
  await settled(world);
  const log = await world.brain.log(world.key);
  expect(errorsOf(log)).toEqual([
    expect.stringMatching(/takes no images: words stand in their place/),
    expect.stringMatching(/uses one tool at a time: calls that were made at once/),
  ]);
  expect(world.api.requests.at(-1)?.body).toMatchObject({
    model: "small:8b",
    max_tokens: 4_096,
    parallel_tool_calls: false,
    messages: [
      { role: "system" },
      {
        role: "user",
        content: "[An image was here. You cannot see images.]\n\nRead a and write b.",
      },
      { role: "assistant", tool_calls: [{ function: { name: "read" } }] },
      { role: "tool", content: "content of a" },
      { role: "assistant", tool_calls: [{ function: { name: "write" } }] },
      { role: "tool", content: "wrote 1 bytes to b" },
    ],
  });
  await world.brain.send(world.key, "And now?");
  await settled(world);
  expect(errorsOf(await world.brain.log(world.key))).toHaveLength(2);
});

describe.each<FlavourName>(["openai", "ollama"])("on a server like %s", async (flavour) => {
  const { log: reference, steps: trace } = await undisturbed(flavour);
  const steps = trace.map((name, index) => ({ name, killAt: index + 1 }));

  test("there are enough steps at which a process can die", () => {
    expect(steps.length).toBeGreaterThan(20);
    expect(brokenLogRules(reference)).toEqual([]);
  });

  test.each(steps)("killed $name (step $killAt), the log is the same", async ({ killAt }) => {
    await using again = await openWorld(flavour);
    await again.brain.post(again.key, MESSAGE);
    await again.brain.run(killAt, again.deps);
    await settled(again);
    const log = await again.brain.log(again.key);
    expect(brokenLogRules(log)).toEqual([]);
    expect(comparableLog(log)).toEqual(comparableLog(reference));
    expect(again.brain.hands.executions).toHaveLength(2);
  });
});
