import { expect, test } from "vitest";
import {
  committed,
  responded,
  startedTurn,
  testDrafting,
  text,
  toolUse,
} from "../../testing/logs.ts";
import type { LogEvent } from "../session/log-event.ts";
import { contextMessages } from "./context.ts";
import { draft } from "./drafting.ts";
import { refusedMedia } from "./refused-media.ts";

const image = (url: string) => ({ type: "image" as const, source: { type: "url" as const, url } });
const document = (url: string) => ({
  type: "document" as const,
  source: { type: "url" as const, url },
});

/** A message with two images and a document, a call with an image as its result, a last message with one. */
function conversation(): {
  log: readonly LogEvent[];
  ids: Record<"first" | "result" | "last", string>;
} {
  const drafting = testDrafting();
  const message = (content: object[]) =>
    draft(drafting, "user.message", { public: { content: content as never }, private: {} });
  const first = message([image("a"), text("what?"), image("b"), document("c")]);
  const turn = [
    first,
    ...startedTurn(drafting),
    ...responded(drafting, [text("ah"), toolUse("toolu_1")]),
  ];
  const call = turn.find(({ type }) => type === "agent.tool_use")?.id ?? "";
  const result = draft(drafting, "agent.tool_result", {
    public: { tool_use_id: call, content: [text("seen"), image("d")] as never, is_error: false },
    private: { reason: "executed" },
  });
  const last = message([text("and?"), image("e")]);
  return {
    log: committed([...turn, result, last]),
    ids: { first: first.id, result: result.id, last: last.id },
  };
}

const { log, ids } = conversation();

test.each<[string, string, number[]]>([
  ["messages.0.content.2.image.source.url: Could not download", ids.first, [2]],
  ["messages.0.content.3: PDF of 700 pages", ids.first, [3]],
  ["messages.2.content.0.tool_result.content.1.image.source: no image", ids.result, [1]],
  ["messages.2.content.0.content.1.image.source: no image", ids.result, [1]],
  ["messages.2.content.2.image.source.base64: Could not process image", ids.last, [1]],
  ["Could not process image", ids.last, [1]],
  ["Unable to download the file", ids.last, [1]],
  ["The PDF specified was not valid.", ids.first, [3]],
  ["messages.99.content.7.image: too large", ids.last, [1]],
])("%s", (message, event_id, places) => {
  expect(refusedMedia(log, message, "turn")).toEqual([{ event_id, places }]);
});

test("all media of the kind in the newest event, where the API does not say which", () => {
  const [only] = log;
  expect(only && refusedMedia([only], "image exceeds 5 MB", "turn")).toEqual([
    { event_id: ids.first, places: [0, 2] },
  ]);
});

test.each([
  "This model does not support image input",
  "image_url is not supported by this model: images are not supported",
  "The model doesn't accept any images",
  "This is not a vision model, no image please",
])("all of a kind, everywhere, where the model takes none: %s", (message) => {
  expect(refusedMedia(log, message, "turn")).toEqual([
    { event_id: ids.first, places: [0, 2] },
    { event_id: ids.result, places: [1] },
    { event_id: ids.last, places: [1] },
  ]);
});

test("a refusal that speaks of something else means no media", () => {
  expect(refusedMedia(log, "max_tokens: 1 > 0", "turn")).toEqual([]);
  expect(refusedMedia([], "Could not process image", "turn")).toEqual([]);
});

test("what was withheld is a sentence, in its place, and is never meant again", () => {
  const drafting = testDrafting();
  const withheld = committed(
    [
      draft(drafting, "drover.content_withheld", {
        public: {},
        private: { event_id: ids.first, places: [2], message: "Could not download" },
      }),
    ],
    log.length,
  );
  const [user] = contextMessages([...log, ...withheld]);
  expect(user?.content.slice(0, 4)).toEqual([
    image("a"),
    text("what?"),
    text("[An image was here, which the model's API refused: Could not download]"),
    document("c"),
  ]);
  const [only] = log;
  expect(only && refusedMedia([only, ...withheld], "image exceeds 5 MB", "turn")).toEqual([
    { event_id: ids.first, places: [0] },
  ]);
});
