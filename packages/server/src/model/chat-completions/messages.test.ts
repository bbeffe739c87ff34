import { expect, test } from "vitest";
import type { ModelBlock, ModelMessage } from "../../core/ports/model.ts";
import { chatMessages } from "./messages.ts";

const IMAGE = { type: "image", source: { type: "base64", media_type: "image/png", data: "AA==" } };
const IMAGE_PART = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } };

function told(messages: readonly ModelMessage[], reasoningField?: string) {
  return chatMessages([], messages, { reasoningField });
}

test("results follow their calls in order, and their images come in the user's message after all", () => {
  const seen = { type: "tool_result", tool_use_id: "a", content: [text("a picture"), IMAGE] };
  const failed = { type: "tool_result", tool_use_id: "b", content: [text("no")], is_error: true };
  const silent = { type: "tool_result", tool_use_id: "c" };
  const messages: readonly ModelMessage[] = [
    { role: "assistant", content: [text("Look."), use("a"), use("b"), use("c")] },
    { role: "user", content: [seen, failed, silent, text("and?")] },
  ];
  expect(told(messages)).toEqual([
    {
      role: "assistant",
      content: "Look.",
      tool_calls: ["a", "b", "c"].map((id) => ({
        id,
        type: "function",
        function: { name: "bash", arguments: '{"n":1}' },
      })),
    },
    { role: "tool", tool_call_id: "a", content: "a picture" },
    { role: "tool", tool_call_id: "b", content: "Error: no" },
    { role: "tool", tool_call_id: "c", content: "(no output)" },
    {
      role: "user",
      content: [
        { type: "text", text: "From the result of the tool call a:" },
        IMAGE_PART,
        { type: "text", text: "and?" },
      ],
    },
  ]);
});

test("a user's message is a string where it is text alone, whatever the text comes from", () => {
  const notes = {
    type: "document",
    title: 'A "title"',
    source: { type: "text", media_type: "text/plain", data: "some notes" },
  };
  const found = {
    type: "search_result",
    source: "https://example.com",
    title: "",
    content: [text("found")],
  };
  const content = [text("Read:"), notes, found];
  expect(told([{ role: "user", content }])).toEqual([
    {
      role: "user",
      content:
        'Read:\n\n<document title="A \\"title\\"">\nsome notes\n</document>\n\n<search_result>\nhttps://example.com\nfound\n</search_result>',
    },
  ]);
});

test("images and files are parts; what is elsewhere is named", () => {
  const pdf = {
    type: "document",
    source: { type: "base64", media_type: "application/pdf", data: "AA==" },
  };
  const far = { type: "image", source: { type: "url", url: "https://example.com/a.png" } };
  const farPdf = { type: "document", source: { type: "url", url: "https://example.com/a.pdf" } };
  expect(told([{ role: "user", content: [IMAGE, far, pdf, farPdf] }])).toEqual([
    {
      role: "user",
      content: [
        IMAGE_PART,
        { type: "image_url", image_url: { url: "https://example.com/a.png" } },
        {
          type: "file",
          file: { filename: "document.pdf", file_data: "data:application/pdf;base64,AA==" },
        },
        { type: "text", text: "(A document at https://example.com/a.pdf.)" },
      ],
    },
  ]);
});

test("thinking goes back only to a server that wants it, in its field", () => {
  const thinking = { type: "thinking", thinking: "hm", signature: "unsigned" };
  const messages: readonly ModelMessage[] = [{ role: "assistant", content: [thinking, text("a")] }];
  expect(told(messages)).toEqual([{ role: "assistant", content: "a" }]);
  expect(told(messages, "reasoning_content")).toEqual([
    { role: "assistant", content: "a", reasoning_content: "hm" },
  ]);
});

function text(value: string): ModelBlock {
  return { type: "text", text: value };
}

function use(id: string): ModelBlock {
  return { type: "tool_use", id, name: "bash", input: { n: 1 } };
}
