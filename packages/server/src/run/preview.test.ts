import { expect, test } from "vitest";
import type { Preview } from "../core/ports/announcements.ts";
import { createResponsePreview } from "./preview.ts";

function previewed() {
  const shown: Preview[] = [];
  const later: (() => void)[] = [];
  let count = 0;
  const preview = createResponsePreview({
    newId: () => {
      count += 1;
      return `sevt_${count}`;
    },
    publish: (event) => shown.push(event),
    soon: (callback) => later.push(callback),
  });
  return {
    preview,
    shown,
    runLater: () => {
      for (const callback of later.splice(0)) callback();
    },
  };
}

const texts = (shown: readonly Preview[]) =>
  shown.map((event) =>
    event.type === "event_start"
      ? event.event.id
      : `${event.event_id}[${event.delta.index}]${event.delta.content.text}`,
  );

test("the first delta goes out at once and those that come together go out as one", () => {
  const { preview, shown, runLater } = previewed();
  preview.blockStarted(0, "text");
  preview.textDelta(0, "a");
  preview.textDelta(0, "b");
  preview.textDelta(0, "c");
  expect(texts(shown)).toEqual(["sevt_1", "sevt_1[0]a"]);
  runLater();
  runLater();
  preview.textDelta(0, "d");
  expect(texts(shown)).toEqual(["sevt_1", "sevt_1[0]a", "sevt_1[0]bc", "sevt_1[0]d"]);
});

test("neighbouring text blocks share an event, other blocks have their own id", () => {
  const { preview, shown } = previewed();
  preview.blockStarted(0, "thinking");
  preview.blockStarted(1, "text");
  preview.textDelta(1, "a");
  preview.blockStarted(2, "text");
  preview.textDelta(2, "b");
  preview.blockStarted(3, "tool_use");
  preview.blockStarted(4, "text");
  preview.textDelta(4, "c");
  preview.end();
  expect(texts(shown)).toEqual([
    "sevt_1",
    "sevt_2",
    "sevt_2[0]a",
    "sevt_2[1]b",
    "sevt_4",
    "sevt_4[0]c",
  ]);
  expect([0, 1, 2, 3, 4].map(preview.idOf)).toEqual([
    "sevt_1",
    "sevt_2",
    "sevt_2",
    "sevt_3",
    "sevt_4",
  ]);
});
