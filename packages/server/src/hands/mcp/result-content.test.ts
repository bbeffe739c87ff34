import { expect, test } from "vitest";
import { resultContent } from "./result-content.ts";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const of = (...content: readonly unknown[]) => resultContent({ content });
const text = (value: string) => ({ type: "text", text: value });
const image = (media_type: string, data = PIXEL) => ({
  type: "image",
  source: { type: "base64", media_type, data },
});

test("text and images are shown as they are", () => {
  expect(
    of({ type: "text", text: "a" }, { type: "image", data: PIXEL, mimeType: "image/PNG " }),
  ).toEqual([text("a"), image("image/png")]);
});

test("what cannot be shown is described, and never given as text", () => {
  const blocks = of(
    { type: "image", data: PIXEL, mimeType: "image/svg+xml" },
    { type: "image", data: "not base64!", mimeType: "image/png" },
    { type: "image", data: "A".repeat(6 * 1024 * 1024), mimeType: "image/png" },
    { type: "audio", data: PIXEL, mimeType: "audio/wav" },
    { type: "hologram", data: PIXEL },
    7,
  );
  expect(blocks).toEqual([
    text("[an image that cannot be shown: image/svg+xml, about 72 bytes]"),
    text("[an image that cannot be shown: image/png, about 8 bytes]"),
    text("[an image that is too large to be shown: image/png, about 4718592 bytes]"),
    text("[audio that cannot be shown: audio/wav, about 72 bytes]"),
    text("[a block of the type hologram was left out]"),
    text("[a block of the result that is none was left out]"),
  ]);
});

test("resources are text with their address, pictures among them pictures", () => {
  const resource = (fields: object) => ({
    type: "resource",
    resource: { uri: "demo://1", ...fields },
  });
  expect(
    of(
      resource({ text: "words", mimeType: "text/plain" }),
      resource({ blob: PIXEL, mimeType: "image/webp" }),
      resource({ blob: PIXEL, mimeType: "application/zip" }),
      { type: "resource" },
      {
        type: "resource_link",
        uri: "demo://2",
        name: "two",
        mimeType: "text/html",
        description: "more",
      },
    ),
  ).toEqual([
    text("[resource demo://1]\nwords"),
    text("[resource demo://1]"),
    image("image/webp"),
    text(
      "[resource demo://1] [binary content that cannot be shown: application/zip, about 72 bytes]",
    ),
    text("[a resource without content]"),
    text("[link to the resource two demo://2 (text/html): more]"),
  ]);
});

test("structured content stands in where there is no other", () => {
  const structuredContent = { a: 1 };
  expect(resultContent({ structuredContent })).toEqual([text('{"a":1}')]);
  expect(resultContent({ structuredContent, content: [text("said")] })).toEqual([text("said")]);
  expect(resultContent({})).toEqual([]);
});

test("text is bounded and has neither NUL nor halves of characters; blocks and images are counted", () => {
  expect(of(text("a\0b\ud800"))).toEqual([text("a\uFFFDb\uFFFD")]);
  const [long] = of(text("x".repeat(1_000_000)));
  expect(long?.type === "text" && long.text.length).toBeLessThan(50_000);
  expect(of(...Array.from({ length: 300 }, () => text("a")))).toHaveLength(201);
  const large = { type: "image", data: "A".repeat(4 * 1024 * 1024), mimeType: "image/png" };
  expect(of(large, large).map(({ type }) => type)).toEqual(["image", "text"]);
});
