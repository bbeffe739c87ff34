import { expect, test } from "vitest";
import {
  committed,
  responded,
  startedTurn,
  testDrafting,
  text,
  toolUse,
  userMessage,
} from "../../testing/logs.ts";
import { testSession } from "../../testing/session.ts";
import type { SandboxNetwork } from "../ports/hands.ts";
import { modelRequest } from "./model-request.ts";
import { BARE_POLICIES, DEFAULT_POLICIES } from "./policies.ts";

const request = (
  session: ReturnType<typeof testSession>,
  hasTools = true,
  policies = DEFAULT_POLICIES,
) => {
  const tools = hasTools
    ? [{ name: "bash", description: "runs", input_schema: { type: "object" as const } }]
    : [];
  return modelRequest(session, committed(startedTurn(testDrafting())), tools, policies);
};

test("the agent's own prompt stands after what the sandbox is", () => {
  const { system, messages } = request(testSession({ system: "Be brief." }));
  expect(system).toHaveLength(2);
  expect(system[0]?.["text"]).toContain("The sandbox has no network");
  expect(system[1]).toMatchObject(text("Be brief."));
  expect(messages).toMatchObject([{ role: "user", content: [text("hello")] }]);
});

test("the model is told whom its sandbox can speak to", () => {
  const told = (network: SandboxNetwork) => {
    const session = testSession({});
    const { system } = request({ ...session, recipe: { ...session.recipe, network } });
    return String(system[0]?.["text"]);
  };
  expect(told({ type: "unrestricted" })).toContain("every host of the public internet");
  const hosts = Array.from({ length: 50 }, (_, index) => `host${index}.test`);
  expect(told({ type: "limited", hosts })).toMatch(/only these hosts: host0.test, .* and 10 more/);
  expect(told({ type: "limited", hosts: [] })).toContain("reaches no host");
});

test("an agent without tools is told of no sandbox, and one without a prompt of nothing else", () => {
  expect(request(testSession({ system: null }), false).system).toEqual([]);
  expect(request(testSession({ system: "  " }), true).system).toHaveLength(1);
});

test("files of the user are named where they are mounted", () => {
  const session = testSession({
    mounts: [
      { type: "file", mount_path: "/mnt/session/uploads/a.csv", sha256: "00", size_bytes: 1 },
    ],
  });
  expect(request(session).system[0]?.["text"]).toContain("- /mnt/session/uploads/a.csv (1 bytes)");
});

test("an effort is sent to the models that take one", () => {
  const of = (model: string, policies = DEFAULT_POLICIES) =>
    request(testSession({ model }), true, policies);
  expect(of("claude-opus-5-5")).toMatchObject({ effort: "high" });
  expect(of("claude-haiku-4-5")).not.toHaveProperty("effort");
  expect(of("claude-haiku-4-5", BARE_POLICIES)).toMatchObject({ effort: "high" });
});

test("a conversation with calls is sent with a tool, also when the agent has none any more", () => {
  const drafting = testDrafting();
  const log = [
    ...startedTurn(drafting),
    ...responded(drafting, [toolUse("toolu_1", "bash")]),
    userMessage(drafting, "go on"),
  ];
  const { tools, system } = modelRequest(
    testSession({ system: null }),
    committed(log),
    [],
    DEFAULT_POLICIES,
  );
  expect(tools).toMatchObject([{ name: "no_tool" }]);
  expect(system).toEqual([]);
});

test("the prompt is marked for the cache, unless that is switched off", () => {
  const marks = (policies: typeof DEFAULT_POLICIES) =>
    JSON.stringify(request(testSession(), true, policies)).split("cache_control").length - 1;
  expect(marks(DEFAULT_POLICIES)).toBe(3);
  expect(marks(BARE_POLICIES)).toBe(0);
});
