import type { ClientEventParams } from "@drover/api";
import {
  answer,
  failing,
  type MessagesRequest,
  type Script,
  toolCall,
  toolResultsOf,
} from "@drover/testing";
import { describe, expect, test } from "vitest";
import { BARE_POLICIES, DEFAULT_POLICIES } from "../core/harness/policies.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { type BrainWorld, createBrainWorld } from "../testing/brain.ts";
import { brokenLogRules, comparableLog } from "../testing/log-rules.ts";

const tools = { read: () => "content of a" };

const text = (value: string) => ({ type: "text" as const, text: value });
const picture = (name: string) => ({
  type: "image" as const,
  source: { type: "url" as const, url: `https://example.com/${name}.png` },
});
const message = (...content: ReturnType<typeof text | typeof picture>[]): ClientEventParams => ({
  type: "user.message",
  content,
});
const system = (value: string): ClientEventParams => ({
  type: "system.message",
  content: [text(value)],
});

async function settled(brain: BrainWorld): Promise<void> {
  for (let processes = 0; processes < 8; processes++) {
    if ((await brain.run()).trace.length === 2) return;
  }
  throw new Error("the session does not come to rest");
}

/** Kills the process at each of its steps in turn, and compares what the next one makes of it. */
async function everyDeath(
  open: () => Promise<BrainWorld>,
  start: (brain: BrainWorld, key: SessionKey) => Promise<void>,
  check: (brain: BrainWorld, log: readonly LogEvent[]) => void,
): Promise<number> {
  await using whole = await open();
  const wholeKey = await whole.newSession();
  await start(whole, wholeKey);
  const { trace } = await whole.run();
  const reference = await whole.log(wholeKey);
  check(whole, reference);
  for (let killAt = 1; killAt <= trace.length; killAt++) {
    await using brain = await open();
    const key = await brain.newSession();
    await start(brain, key);
    await brain.run(killAt);
    await settled(brain);
    const log = await brain.log(key);
    expect(brokenLogRules(log), `killed ${trace[killAt - 1]} (${killAt})`).toEqual([]);
    expect(comparableLog(log).map(withoutUsage)).toEqual(
      comparableLog(reference).map(withoutUsage),
    );
    check(brain, log);
  }
  return trace.length;
}

/** A lost request has filled the prompt cache for the one that is made again. */
const withoutUsage = (entry: unknown) => ({ ...(entry as object), usage: undefined });

const stopsOf = (log: readonly LogEvent[]) =>
  log.flatMap((event) =>
    event.type === "session.status_idle" ? [event.public.stop_reason.type] : [],
  );
const errorsOf = (log: readonly LogEvent[]) =>
  log.flatMap((event) =>
    event.type === "session.error" ? [event.public.error.retry_status.type] : [],
  );
const sentBy = ({ body }: MessagesRequest) => JSON.stringify(body["messages"]);

/** Refuses a picture that it cannot fetch, as the API does, and says where it is. */
const PICKY: Script = (request) => {
  const messages = request.body["messages"] as readonly { content: readonly { type: string }[] }[];
  for (const [index, { content }] of messages.entries()) {
    const bad = content.findIndex((block) => JSON.stringify(block).includes("missing"));
    if (bad < 0) continue;
    return failing({
      type: "status",
      status: 400,
      error_type: "invalid_request_error",
      message: `messages.${index}.content.${bad}.image.source.url: Unable to download the file`,
    });
  }
  return answer("I see.");
};

describe("a picture that the API cannot fetch", () => {
  const open = (policies = DEFAULT_POLICIES) =>
    createBrainWorld({ script: PICKY, tools, policies });
  const content = [text("See:"), picture("there"), picture("missing")];

  test("is withheld, alone, and the turn goes on without it, whatever is killed", async () => {
    const steps = await everyDeath(
      open,
      (brain, key) => brain.post(key, message(...content)),
      (brain, log) => {
        expect(stopsOf(log)).toEqual(["end_turn"]);
        expect(errorsOf(log)).toEqual(["retrying"]);
        const last = brain.api.requests.at(-1);
        const sent = last === undefined ? "" : sentBy(last);
        expect(sent).toContain("there.png");
        expect(sent).toContain("An image was here, which the model's API refused");
      },
    );
    expect(steps).toBeGreaterThan(8);
  });

  test("does not fail later turns, also where there were more of them than attempts", async () => {
    await using brain = await open();
    const key = await brain.newSession();
    const many = Array.from({ length: DEFAULT_POLICIES.attemptsMax + 2 }, () => picture("missing"));
    await brain.post(key, message(...many));
    await brain.run();
    expect(stopsOf(await brain.log(key))).toEqual(["retries_exhausted"]);
    await brain.post(key, message(text("and now?")));
    await brain.run();
    expect(stopsOf(await brain.log(key))).toEqual(["retries_exhausted", "end_turn"]);
    expect(brokenLogRules(await brain.log(key))).toEqual([]);
  });

  test("ends the turn with the API's error where that is not worked around", async () => {
    await using brain = await open(BARE_POLICIES);
    const key = await brain.newSession();
    await brain.post(key, message(...content));
    await brain.run();
    expect(errorsOf(await brain.log(key))).toEqual(["exhausted"]);
  });
});

test("a model that takes no pictures is asked once more without any, and never sees one again", async () => {
  const script: Script = (request) =>
    sentBy(request).includes('"image"')
      ? failing({ type: "status", status: 400, message: "This model does not support image input" })
      : answer("Words, then.");
  await using brain = await createBrainWorld({ script, tools });
  const key = await brain.newSession();
  for (const name of ["a", "b", "c"]) await brain.post(key, message(text(name), picture(name)));
  await brain.run();
  await brain.post(key, message(text("and now?")));
  await brain.run();
  const log = await brain.log(key);
  expect([errorsOf(log), stopsOf(log)]).toEqual([["retrying"], ["end_turn", "end_turn"]]);
  expect(brain.api.requests).toHaveLength(3);
});

test("a refusal that no picture is to blame for ends the turn, and nothing is withheld", async () => {
  const refusal = { type: "status", status: 400, error_type: "invalid_request_error" } as const;
  await using brain = await createBrainWorld({
    script: [failing({ ...refusal, message: "tools.0.name: too odd" })],
    tools,
  });
  const key = await brain.newSession();
  await brain.post(key, message(text("See:"), picture("there")));
  await brain.run();
  const log = await brain.log(key);
  expect(errorsOf(log)).toEqual(["exhausted"]);
  expect(log.some(({ type }) => type === "drover.content_withheld")).toBe(false);
});

describe("a file in a message", () => {
  const PNG = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
  async function* chunks() {
    yield PNG;
  }

  test("reaches the model, and a sentence does once it is deleted", async () => {
    await using brain = await createBrainWorld({ script: [answer("I see.")], tools });
    const key = await brain.newSession();
    const { workspaceId } = key;
    const { sha256, size_bytes } = await brain.blobs.put(workspaceId, chunks());
    await brain.store.write((tx) =>
      tx.files.insert({
        workspace_id: workspaceId,
        id: "file_1",
        filename: "a.png",
        mime_type: "image/png",
        size_bytes,
        sha256,
        created_at: tx.now,
        expires_at: null,
        session_id: null,
        downloadable: false,
        output_path: null,
      }),
    );
    const block = { type: "image" as const, source: { type: "file" as const, file_id: "file_1" } };
    await brain.post(key, { type: "user.message", content: [block] });
    await brain.run();
    await brain.store.write((tx) => tx.files.delete(workspaceId, "file_1"));
    await brain.post(key, message(text("and now?")));
    await brain.run();
    const [first = "", second = ""] = brain.api.requests.map(sentBy);
    expect(first).toContain(PNG.toString("base64"));
    expect(second).toContain("An image was here. It was deleted.");
    expect(stopsOf(await brain.log(key))).toEqual(["end_turn", "end_turn"]);
  });
});

describe("a system message", () => {
  const TOOL_FIRST: Script = (request) => {
    if (toolResultsOf(request).size === 0) return answer(toolCall("read", { file_path: "a" }));
    return answer("Done.");
  };

  test("is a turn of its own behind the message it came with, whatever is killed", async () => {
    await everyDeath(
      () => createBrainWorld({ script: TOOL_FIRST, tools }),
      (brain, key) => brain.post(key, message(text("Go.")), system("Be brief.")),
      (brain, log) => {
        expect(stopsOf(log)).toEqual(["end_turn"]);
        for (const { body } of brain.api.requests) {
          expect(body["messages"]).toMatchObject([
            { role: "user" },
            { role: "system", content: [text("Be brief.")] },
            ...(body["messages"] as readonly unknown[]).slice(2),
          ]);
        }
      },
    );
  });

  test("of several requests at once stand together behind all messages", async () => {
    await using brain = await createBrainWorld({ script: [answer("Done.")], tools });
    const key = await brain.newSession();
    await brain.post(key, message(text("One.")), system("Be brief."));
    await brain.post(key, message(text("Two.")), system("Be polite."));
    await brain.run();
    expect(brain.api.requests[0]?.body["messages"]).toMatchObject([
      { role: "user", content: [text("One."), text("Two.")] },
      { role: "system", content: [text("Be brief."), text("Be polite.")] },
    ]);
  });

  test("may come along with the result of a call that the client runs, and is refused without one", async () => {
    await using brain = await createBrainWorld({
      script: (request) =>
        toolResultsOf(request).size === 0 ? answer(toolCall("client_weather")) : answer("Done."),
      tools,
      offered: ["client_weather"],
    });
    const key = await brain.newSession();
    await brain.post(key, message(text("Go.")));
    await brain.run();
    expect(stopsOf(await brain.log(key))).toEqual(["requires_action"]);
    const call = (await brain.log(key)).find(({ type }) => type === "agent.custom_tool_use");
    await expect(brain.post(key, message(text("And?")), system("Be brief."))).rejects.toThrow(
      "events.1: a session that waits for answers takes a system.message only along with a result",
    );
    const result: ClientEventParams = {
      type: "user.custom_tool_result",
      custom_tool_use_id: call?.id ?? "",
      content: [
        {
          type: "search_result",
          source: "https://example.com",
          title: "Weather",
          content: [text("Sunny.")],
          citations: { enabled: false },
        },
        picture("sun"),
      ],
    };
    await brain.post(key, result, system("Be brief."));
    await brain.run();
    expect(stopsOf(await brain.log(key)).at(-1)).toBe("end_turn");
    expect(brain.api.requests.at(-1)?.body["messages"]).toMatchObject([
      { role: "user" },
      { role: "assistant" },
      { role: "user", content: [{ type: "tool_result", content: result.content }] },
      { role: "system", content: [text("Be brief.")] },
    ]);
  });
});
