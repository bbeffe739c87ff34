import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  answer,
  failing,
  judgedCallOf,
  type MessagesRequest,
  overloaded,
  type Script,
  text,
  thinking,
  toolCall,
  toolResultsOf,
} from "@drover/testing";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { MemoryTool } from "../hands/fake/memory-hands.ts";
import { allow, callIds, deny, result } from "./answers.ts";
import { type BrainWorld, createBrainWorld, TWO_TOOLS } from "./brain.ts";

/**
 * Writes the logs under `test/fixtures/logs`, one event a line. Run by hand when a new shape of log is
 * to be kept: `node --conditions=drover-source packages/server/src/testing/record-logs.ts FOLDER`. A log that
 * has been released is never written again: it is what old sessions look like.
 */
interface Scenario {
  readonly name: string;
  readonly script: Script;
  /** Names of tools as `testTool` has them. */
  readonly offered?: readonly string[];
  /** Tokens of the model's. */
  readonly window?: number;
  readonly tools?: Readonly<Record<string, MemoryTool>>;
  readonly mcp?: NonNullable<Parameters<typeof createBrainWorld>[0]["mcp"]>;
  readonly play: (brain: BrainWorld) => Promise<SessionKey>;
}

const callThenText =
  (...names: readonly string[]): Script =>
  (request) =>
    toolResultsOf(request).size > 0
      ? answer(text("Done."))
      : answer(thinking("A tool is needed."), ...names.map((name) => toolCall(name, { n: name })));

const call = (request: MessagesRequest) =>
  toolResultsOf(request).size > 0 || request.lastUserText.startsWith("Once more")
    ? answer(text("Done."))
    : answer(thinking("Three of them."), ...["allow", "deny", "ask"].map(autoCall));

const autoCall = (verdict: string) => toolCall(`auto_${verdict}`, { n: verdict });

const SCENARIOS: readonly Scenario[] = [
  {
    name: "talk",
    script: [answer(text("Hello."), text("How are you?")), answer(text("Fine, then."))],
    play: async (brain) => {
      const key = await brain.newSession();
      await brain.send(key, "Hello");
      await brain.run();
      await brain.send(key, "Well, thanks", "and you?");
      await brain.run();
      return key;
    },
  },
  {
    name: "two-tools",
    script: TWO_TOOLS,
    tools: { read: () => "content of a", write: () => "wrote 1 bytes to b" },
    play: async (brain) => {
      const key = await brain.newSession();
      await brain.send(key, "Read a and write b.");
      await brain.run();
      return key;
    },
  },
  {
    name: "denied-tool",
    script: callThenText("forbidden", "read"),
    tools: { read: () => "content" },
    play: async (brain) => {
      const key = await brain.newSession();
      await brain.send(key, "Try it.");
      await brain.run();
      return key;
    },
  },
  {
    name: "retried",
    script: [overloaded(), answer(text("Here I am."))],
    play: async (brain) => {
      const key = await brain.newSession();
      await brain.send(key, "hello?");
      await brain.run();
      return key;
    },
  },
  {
    name: "exhausted",
    script: (_request, n) => (n < 6 ? overloaded() : answer(text("Back again."))),
    play: async (brain) => {
      const key = await brain.newSession();
      await brain.send(key, "hello?");
      await brain.run();
      await brain.send(key, "and now?");
      await brain.run();
      return key;
    },
  },
  {
    name: "lost-hands",
    script: callThenText("bash", "bash"),
    tools: { bash: () => "done" },
    play: async (brain) => {
      const key = await brain.newSession();
      await brain.send(key, "Do it.");
      // Dies when the first call was sent; the hands die with it.
      await brain.run(14);
      brain.hands.kill();
      await brain.run();
      return key;
    },
  },
  {
    name: "interrupted",
    script: (request) =>
      request.lastUserText.includes("else")
        ? answer(text("Gladly."))
        : answer(toolCall("bash", { command: "sleep 1000" }), toolCall("bash", { command: "ls" })),
    tools: {
      bash: (_call, signal) =>
        new Promise((resolve) => signal.addEventListener("abort", () => resolve("ended"))),
    },
    play: async (brain) => {
      const key = await brain.newSession();
      await brain.send(key, "Sleep.");
      const running = brain.run();
      await brain.until(key, (log) => log.some(({ type }) => type === "drover.call_started"));
      await brain.send(key, "interrupt", "Something else.");
      await running;
      return key;
    },
  },
  {
    name: "asked",
    script: callThenText("ask_write", "read", "client_weather", "ask_delete"),
    offered: ["ask_write", "read", "client_weather", "ask_delete"],
    tools: { "*": () => "done" },
    play: async (brain) => {
      const key = await brain.newSession();
      await brain.send(key, "Ask me.");
      await brain.run();
      const [write = "", , weather = "", remove = ""] = callIds(await brain.log(key));
      await brain.post(key, result(weather));
      await brain.run();
      await brain.post(key, deny(remove, "Not on a Sunday."));
      await brain.send(key, "And then?");
      await brain.run();
      await brain.post(key, allow(write));
      await brain.run();
      return key;
    },
  },
  {
    name: "judged",
    script: (request) => {
      const judged = judgedCallOf(request);
      if (judged === undefined) return call(request);
      const verdict = judged.tool.slice("auto_".length);
      return answer(JSON.stringify({ verdict, reason: "It looks so." }));
    },
    offered: ["auto_allow", "auto_deny", "auto_ask"],
    tools: { "*": () => "done" },
    play: async (brain) => {
      const key = await brain.newSession();
      await brain.send(key, "Judge it.");
      await brain.run();
      await brain.post(key, { type: "user.interrupt" });
      await brain.run();
      await brain.send(key, "Once more, without.");
      await brain.run();
      return key;
    },
  },
  {
    name: "compacted",
    window: 2_400,
    script: (request) => {
      if (request.lastUserText.includes("Stop here.")) return answer(text("There was some talk."));
      if (toolResultsOf(request).size > 0) return answer(text("You said hello."));
      return request.lastUserText.includes("first")
        ? answer(thinking("I look."), toolCall("session_events", { query: "hello", limit: 1 }))
        : answer(text("Word after word. ".repeat(40)));
    },
    play: async (brain) => {
      const key = await brain.newSession();
      for (const word of ["hello", "and then", "go on", "well", "so"]) {
        await brain.send(key, `${word} ${"Say something. ".repeat(30)}`);
        await brain.run();
      }
      await brain.send(key, "What did I say first?");
      await brain.run();
      return key;
    },
  },
  {
    name: "weak-model",
    script: (request) => {
      const said = JSON.stringify(request.body["messages"]);
      const cut = { ...toolCall("read"), inputJson: '{"path": ' };
      if (!said.includes("was empty")) return answer();
      if (!said.includes("limit of tokens")) {
        return { ...answer("I read it.", cut), stop_reason: "max_tokens" };
      }
      if (!said.includes("not a JSON object")) return answer(cut);
      return toolResultsOf(request).size > 0 && !said.includes("Done")
        ? answer("Done.")
        : answer(toolCall("read"), toolCall("read"));
    },
    tools: { read: () => "content" },
    play: async (brain) => {
      const key = await brain.newSession();
      await brain.send(key, "Read it.");
      await brain.run();
      return key;
    },
  },
  {
    name: "refused-media",
    script: (request) =>
      JSON.stringify(request.body["messages"]).includes("missing")
        ? failing({
            type: "status",
            status: 400,
            error_type: "invalid_request_error",
            message: "messages.0.content.1.image.source.url: Unable to download the file",
          })
        : answer("I see one."),
    play: async (brain) => {
      const key = await brain.newSession();
      const picture = (name: string) => ({
        type: "image" as const,
        source: { type: "url" as const, url: `https://example.com/${name}.png` },
      });
      const content = [picture("there"), picture("missing")];
      const system = [{ type: "text" as const, text: "Be brief." }];
      await brain.post(
        key,
        { type: "user.message", content },
        { type: "system.message", content: system },
      );
      await brain.run();
      await brain.send(key, "And now?");
      await brain.run();
      return key;
    },
  },
  {
    name: "mcp",
    script: callThenText("mcp__mail__read", "mcp__mail__send"),
    tools: { "mail/read": () => "a letter", "mail/send": () => "sent" },
    mcp: {
      agent: {
        tools: [
          toolsetOf("mail", "always_ask", { name: "read", ...setting("always_allow") }),
          toolsetOf("gone", "always_allow"),
        ],
        mcp_servers: ["mail", "gone"].map((name) => {
          return { type: "url", name, url: `https://${name}.test/mcp` };
        }),
      },
      serve: ({ name }) =>
        name === "mail"
          ? { tools: ["read", "send"].map(listedTool) }
          : { tools: [], error: { type: "connection", message: "It is not there." } },
    },
    play: async (brain) => {
      const key = await brain.newSession();
      await brain.send(key, "Read, then send.");
      await brain.run();
      await brain.post(
        key,
        ...callIds(await brain.log(key))
          .slice(1)
          .map(allow),
      );
      await brain.run();
      return key;
    },
  },
];

function setting(type: string) {
  return { enabled: true, permission_policy: { type } };
}

function toolsetOf(mcp_server_name: string, policy: string, ...configs: readonly object[]) {
  return { type: "mcp_toolset", mcp_server_name, default_config: setting(policy), configs };
}

function listedTool(name: string) {
  return { name, description: `the tool ${name}`, input_schema: { type: "object" as const } };
}

const [, , folder = "."] = process.argv;
mkdirSync(folder, { recursive: true });
for (const { name, script, offered, window, mcp, tools = {}, play } of SCENARIOS) {
  await using brain = await createBrainWorld({
    script,
    tools,
    ...(offered !== undefined && { offered }),
    ...(window !== undefined && { window }),
    ...(mcp !== undefined && { mcp }),
  });
  const log = await brain.log(await play(brain));
  const lines = log.map((event) => JSON.stringify(event));
  writeFileSync(join(folder, `${name}.v1.jsonl`), `${lines.join("\n")}\n`);
}
