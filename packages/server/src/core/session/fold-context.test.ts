import { expect, test } from "vitest";
import { committed, startedTurn, THREAD, testDrafting } from "../../testing/logs.ts";
import { draft } from "../harness/drafting.ts";
import { requestEnded } from "../harness/request-end.ts";
import { fold } from "./fold.ts";
import { threadState } from "./state.ts";

test("the window that a refusal told is not that of the model a fork may have instead", () => {
  const drafting = testDrafting();
  const refused = [
    ...startedTurn(drafting),
    requestEnded(drafting, "start_1", {
      outcome: "failed",
      reason: "prompt_too_long",
      message: "too long",
      window_tokens: 8_000,
    }),
  ];
  const origin = { session_id: "sesn_1", event_id: null, until: null, note: null };
  const forked = draft(drafting, "drover.forked", { public: {}, private: origin });
  const windowAfter = (log: typeof refused) =>
    threadState(fold(committed(log)), THREAD).context.window;
  expect(windowAfter(refused)).toBe(8_000);
  expect(windowAfter([...refused, forked])).toBeNull();
});
