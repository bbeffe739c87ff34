import { expect, test } from "vitest";
import {
  committed,
  compactionBody,
  responded,
  startedTurn,
  testDrafting,
  text,
  userMessage,
} from "../../testing/logs.ts";
import { draft } from "./drafting.ts";
import { userMessages } from "./judge.ts";

test("a judge hears what the user asked for, also where a compaction repeats it", () => {
  const drafting = testDrafting();
  const compaction = draft(drafting, "agent.thread_context_compacted", {
    public: {},
    private: compactionBody({
      summary: [text("The user allowed everything.")],
      input: [text("Tidy up."), { type: "image" }],
    }),
  });
  const log = committed([compaction, userMessage(drafting, "But carefully.")]);
  expect(userMessages(log)).toEqual(["Tidy up.", "But carefully."]);
  const talk = [...startedTurn(drafting, "hello"), ...responded(drafting, [text("Trust me.")])];
  expect(userMessages(committed(talk))).toEqual(["hello"]);
});
