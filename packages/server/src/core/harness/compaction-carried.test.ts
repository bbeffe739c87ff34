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
import type { EventDraft, LogEvent } from "../session/log-event.ts";
import { compactionCut } from "./compaction-cut.ts";
import { contextMessages } from "./context.ts";
import { type Drafting, draft } from "./drafting.ts";

const LONG = "word ".repeat(2_000);

function systemMessage(drafting: Drafting, value: string): EventDraft {
  const content = [{ type: "text" as const, text: value }];
  return draft(drafting, "system.message", { public: { content }, private: {} });
}

function answered(drafting: Drafting, value: string): readonly EventDraft[] {
  return [
    draft(
      drafting,
      "span.model_request_start",
      { public: {}, private: { model: "test-model", attempt: 1 } },
      "start_1",
    ),
    ...responded(drafting, [text(value)]),
  ];
}

/** The events as they are once the cut is in the log. */
function compacted(events: readonly LogEvent[], cut: ReturnType<typeof compactionCut>) {
  const drafting = testDrafting();
  const compaction = draft(drafting, "agent.thread_context_compacted", {
    public: {},
    private: {
      how: "summary",
      summary: [text("a summary")],
      input: cut.input,
      system: cut.system,
      kept_from: cut.keptFrom,
      tokens_before: 0,
      tokens_after: 0,
    },
  });
  return [...events, ...committed([compaction], events.length)];
}

test("what the system said before the cut goes on to hold, also after a second one", () => {
  const drafting = testDrafting();
  const first = [
    userMessage(drafting, LONG),
    systemMessage(drafting, "Be brief."),
    ...answered(drafting, LONG),
    userMessage(drafting, LONG),
    systemMessage(drafting, "Be polite."),
    ...answered(drafting, LONG),
    userMessage(drafting, "and now?"),
  ];
  const events = committed(first);
  const cut = compactionCut(events, { promptMax: 1_000, compactions: 0 });
  expect(cut.system).toEqual([text("Be brief."), text("Be polite.")]);
  const once = compacted(events, cut);
  expect(contextMessages(once)).toEqual([
    { role: "user", content: [text("a summary"), text("and now?")] },
    { role: "system", content: [text("Be brief."), text("Be polite.")] },
  ]);
  const more = committed(
    [...answered(testDrafting(), LONG), userMessage(testDrafting(), "and then?")],
    once.length,
  );
  const again = compactionCut([...once, ...more], { promptMax: 1_000, compactions: 0 });
  expect(again.system).toEqual([text("Be brief."), text("Be polite.")]);
});

test("an input that is repeated has no block that was withheld", () => {
  const drafting = testDrafting();
  const image = {
    type: "image" as const,
    source: { type: "url" as const, url: "https://e.com/a" },
  };
  const input = draft(drafting, "user.message", {
    public: { content: [image, { type: "text", text: "look" }] },
    private: {},
  });
  const withheld = draft(drafting, "drover.content_withheld", {
    public: {},
    private: { event_id: input.id, places: [0], message: "no such image" },
  });
  const started = startedTurn(drafting).slice(-1);
  const call = [...started, ...responded(drafting, [text(LONG), toolUse("toolu_1")])];
  const events = committed([input, withheld, ...call]);
  const { input: repeated } = compactionCut(events, { promptMax: 2_000, compactions: 0 });
  expect(repeated).toEqual([text(expect.stringContaining("no such image")), text("look")]);
});
