import { type Answer, answer, text, thinking, toolCall } from "@drover/testing";
import { describe, expect, test } from "vitest";
import { Conversation, isType, messagesOf } from "./support/conversation.ts";
import { script } from "./support/last-words.ts";
import { useWorld } from "./support/world.ts";

// Without any workaround a turn still ends, whatever the model answers, and the next one works.
const world = useWorld({ DROVER_POLICIES_OFF: "all", DROVER_MODEL_BACKOFF_MS: "10" });

const CUT = { ...toolCall("bash"), inputJson: '{"command": "echo ra' };

describe.concurrent("without policies, an answer", () => {
  test.each<[string, Answer, string]>([
    ["of nothing", { content: [] }, "end_turn"],
    ["of thinking alone", answer(thinking("hm")), "end_turn"],
    ["whose call was cut off", { ...answer("I", CUT), stop_reason: "max_tokens" }, "end_turn"],
    ["whose call is no JSON", answer(CUT), "retries_exhausted"],
    ["that refuses", { ...answer("no"), stop_reason: "refusal" }, "refusal"],
    ["of an unknown kind", { ...answer(text("all")), stop_reason: "moon_phase" }, "end_turn"],
  ])("%s ends its turn, and the next works", async (_, odd, ending) => {
    const talk = await Conversation.open(world());
    await talk.say(script(odd));
    const history = await talk.afterTurns(1);
    expect(history.findLast(isType("session.status_idle"))?.stop_reason.type).toBe(ending);
    await talk.say("again");
    expect(messagesOf(await talk.afterTurns(2)).at(-1)).toBe("You said: again");
  });
});
