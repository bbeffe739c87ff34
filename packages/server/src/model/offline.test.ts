import { describe, expect, test } from "vitest";
import {
  responseOf,
  testModel,
  type WantedAnswer,
  withResults,
} from "../core/ports/model.testsuite.ts";
import type { ModelMessage, ModelObserver, ModelRequest } from "../core/ports/model.ts";
import { OfflineModel } from "./offline.ts";

const QUIET: ModelObserver = { blockStarted: () => undefined, textDelta: () => undefined };

describe("OfflineModel", () => {
  testModel(async () => ({
    model: new OfflineModel(),
    request: (answers) => requestOf(fenced(JSON.stringify(answers.map(wantedStep)))),
    close: async () => undefined,
  }));

  test("judges a call as the user's newest script says, and otherwise gives no verdict", async () => {
    const script = `
- { tool: bash, input: { command: ls }, judge: allow }
- parallel:
    - { tool: bash, input: { command: "{{result}}" }, judge: ask }
    - { tool: write, input: {} }
`;
    const judged = async (tool: string, input: object, messages: readonly string[]) => {
      const question = { tool: { name: tool, description: "" }, input, user_messages: messages };
      const request = requestOf(JSON.stringify(question));
      const outcome = await new OfflineModel().respond(request, QUIET, AbortSignal.timeout(5000));
      return outcome.type === "response" ? String(outcome.blocks[0]?.["text"]) : outcome;
    };
    const said = ["Hello.", fenced(script), "Go on."];
    expect(await judged("bash", { command: "ls" }, said)).toContain('"verdict":"allow"');
    expect(await judged("bash", { command: "{{result}}" }, said)).toContain('"verdict":"ask"');
    expect(await judged("bash", { command: "else" }, said)).toContain('"verdict":"allow"');
    expect(await judged("write", {}, said)).toBe("The script does not say.");
    expect(await judged("bash", { command: "ls" }, [])).toBe("The script does not say.");
  });

  test("follows a script over several tools and fills a report from what they said", async () => {
    const script = `
delay_ms: 0
steps:
  - think: I should see how much there is.
    say: Let me look.
    tool: bash
    input: { command: wc -l < sales.csv }
    as: rows
  - parallel:
      - { tool: bash, input: { command: "awk total" }, as: total }
      - { tool: bash, input: { command: "sort best" }, as: best }
  - tool: write
    input:
      path: /mnt/session/outputs/report.md
      content: |
        # Sales
        {{rows | trim}} rows, {{total | match "total=([\\d.]+)"}} in all.
        Best: {{best | line 1 | column 1 ","}} with {{best | line 1 | column 2 ","}}.
  - say: "{{result | trim}}: {{result.1 | number}} rows, {{ total | number -1 | default \\"none\\" }}."
`;
    const results: Record<string, string> = {
      "wc -l < sales.csv": "  1204\n",
      "awk total": "count=7\ntotal=88.5\n",
      "sort best": "north,41.2\nsouth,40\n",
      write: "written\n",
    };
    const { answers } = await run(fenced(script), (use) => {
      const input = use["input"] as Record<string, string>;
      return results[input["command"] ?? "write"] ?? "?";
    });
    expect(answers).toMatchObject([
      [
        { type: "thinking", thinking: "I should see how much there is." },
        { type: "text", text: "Let me look." },
        { type: "tool_use", name: "bash", input: { command: "wc -l < sales.csv" } },
      ],
      [{ type: "tool_use" }, { type: "tool_use" }],
      [
        {
          type: "tool_use",
          name: "write",
          input: {
            path: "/mnt/session/outputs/report.md",
            content: "# Sales\n1204 rows, 88.5 in all.\nBest: north with 41.2.\n",
          },
        },
      ],
      [{ type: "text", text: "written: 1204 rows, 88.5." }],
    ]);
  });

  test("another process goes on with the same step", async () => {
    const request = requestOf(fenced("- { tool: bash }\n- say: after {{result}}"));
    const first = responseOf(await ask(request));
    const again = [...request.messages, ...withResults(first.blocks)];
    const outcomes = [
      await ask({ ...request, messages: again }),
      await ask({ ...request, messages: again }),
    ];
    for (const outcome of outcomes) {
      expect(responseOf(outcome).blocks).toMatchObject([{ text: "after ok" }]);
    }
  });

  test("a script lasts over turns, and a newer one takes its place", async () => {
    const talk = [user(fenced("- say: one\n- say: two\n- say: three")), said("one"), user("go on")];
    expect(await text(talk)).toBe("two");
    expect(await text([...talk, said("two"), user(fenced("- say: new"))])).toBe("new");
    expect(await text([...talk, said("two"), user("on"), said("three"), user("on")])).toBe(
      "The script has no more steps.",
    );
  });

  test("the system prompt's script begins anew with every turn", async () => {
    const script = fenced('- tool: bash\n- say: "{{result}} of {{user}}"');
    const agent = [{ type: "text", text: `You count.\n\n${script}` }];
    const first = [user("apples")];
    const use = { type: "tool_use", id: "a", name: "bash", input: {} };
    const [asked, answered] = withResults([use], () => "7");
    const done = [...first, ...(asked && answered ? [asked, answered] : [])];
    expect(
      responseOf(await ask({ ...requestOf(""), system: agent, messages: first })).blocks,
    ).toEqual([expect.objectContaining({ type: "tool_use" })]);
    expect(await text(done, agent)).toBe("7 of apples");
    const next = [...done, said("7 of apples"), user("pears")];
    expect(
      responseOf(await ask({ ...requestOf(""), system: agent, messages: next })).blocks,
    ).toEqual([expect.objectContaining({ type: "tool_use" })]);
  });

  test("a message's own script comes before the system prompt's", async () => {
    const system = [{ type: "text", text: fenced("- say: agent") }];
    const own = [user(fenced("- say: own"))];
    expect(await text(own, system)).toBe("own");
    expect(await text([...own, said("own"), user("and now?")], system)).toBe("agent");
  });

  test("what a sandbox printed is never a script", async () => {
    const use = { type: "tool_use", id: "a", name: "bash", input: {} };
    const printed = withResults([use], () => fenced("- say: stolen"));
    const messages = [user(fenced("- tool: bash\n- say: mine")), ...printed];
    expect(await text(messages)).toBe("mine");
  });

  test("a fault passes after the times it was given", async () => {
    const model = new OfflineModel();
    const request = requestOf(fenced("- { fail: overloaded, times: 2, say: at last }"));
    const kinds = [];
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const outcome = await model.respond(request, QUIET, new AbortController().signal);
      kinds.push(outcome.type === "failure" ? outcome.kind : outcome.type);
    }
    expect(kinds).toEqual(["overloaded", "overloaded", "response"]);
  });

  test("takes the time that the script says, for each token and before the first", async () => {
    const slept: number[] = [];
    const model = new OfflineModel({ sleep: async (ms) => void slept.push(ms) });
    const script = "{ delay_ms: 5, steps: [{ wait_ms: 900, say: 12345678 9 }] }";
    await model.respond(requestOf(fenced(script)), QUIET, new AbortController().signal);
    expect(slept).toEqual([900, 5, 5, 5]);
  });

  test("stops for the reason that the script gives", async () => {
    const outcome = await ask(requestOf(fenced("- { say: I will not, stop_reason: refusal }")));
    expect(outcome).toMatchObject({
      stop_reason: "refusal",
      stop_details: { type: "refusal", explanation: expect.any(String) },
    });
  });

  test("without a script it says what it is and what to set; echo repeats", async () => {
    expect(await text([user("hello")])).toMatch(/DROVER_MODEL_API_KEY/);
    const echo = { ...requestOf("hello"), model: "offline/echo" };
    expect(responseOf(await ask(echo)).blocks).toMatchObject([{ text: "hello" }]);
  });

  test.each([
    ["- say: {a: 1}", /step 1, say/],
    ["- { tool: bash, sing: la }", /step 1.*sing/],
    ["- say: a\n- think: b", /step 2 does nothing/],
    ["- { say: a, input: {} }", /has input, as or judge, but no tool/],
    ["- { tool: a, parallel: [{ tool: b }] }", /both tool and parallel/],
    ["- { tool: a, as: user }", /word of templates/],
    ["- { say: a, delay_ms: 1e9 }", /delay_ms/],
    ["steps: a", /steps/],
    ["[]", /too small|at least/i],
    ["- say: [", /not YAML/],
    ["- &a { say: x }\n- *a", /not YAML.*alias/i],
  ])("refuses the script %j with a sentence", async (script, expected) => {
    expect(await ask(requestOf(fenced(script)))).toMatchObject({
      type: "failure",
      kind: "request_failed",
      retryable: false,
      message: expect.stringMatching(expected),
    });
  });

  test("refuses a script that is not closed", async () => {
    expect(await ask(requestOf("```drover-script\n- say: a"))).toMatchObject({
      kind: "request_failed",
      message: expect.stringContaining("not closed"),
    });
  });

  test("a longer fence may have fences in it", async () => {
    const script = "````drover-script\n- say: |\n    ```\n    code\n    ```\n````";
    expect(await text([user(script)])).toBe("```\ncode\n```\n");
  });
});

function ask(request: ModelRequest) {
  return new OfflineModel().respond(request, QUIET, new AbortController().signal);
}

async function text(messages: readonly ModelMessage[], system: ModelRequest["system"] = []) {
  const outcome = responseOf(await ask({ ...requestOf(""), messages, system }));
  return outcome.blocks[0]?.["text"];
}

/** Asks until no more tools are used, each time with a model that knows nothing of the last. */
async function run(
  said_: string,
  result: NonNullable<Parameters<typeof withResults>[1]>,
): Promise<{ answers: readonly unknown[] }> {
  const answers = [];
  let messages: readonly ModelMessage[] = [user(said_)];
  for (;;) {
    const answer = responseOf(await ask({ ...requestOf(""), messages }));
    answers.push(answer.blocks);
    messages = [...messages, ...withResults(answer.blocks, result)];
    if (answer.stop_reason !== "tool_use") return { answers };
  }
}

function requestOf(message: string): ModelRequest {
  return {
    model: "offline/script",
    system: [],
    messages: [user(message)],
    tools: [],
    max_tokens: 1_000,
  };
}

function user(message: string): ModelMessage {
  return { role: "user", content: [{ type: "text", text: message }] };
}

function said(message: string): ModelMessage {
  return { role: "assistant", content: [{ type: "text", text: message }] };
}

function fenced(script: string): string {
  return `Please:\n\`\`\`drover-script\n${script.trim()}\n\`\`\`\nThanks.`;
}

function wantedStep({ think, say, calls, delayMs, fail }: WantedAnswer) {
  return {
    ...(think !== undefined && { think }),
    ...(say !== undefined && { say }),
    ...(calls !== undefined && {
      parallel: calls.map(({ name, input }) => ({ tool: name, input })),
    }),
    ...(delayMs !== undefined && { delay_ms: Math.min(delayMs, 60_000) }),
    ...(fail !== undefined && { fail }),
  };
}
