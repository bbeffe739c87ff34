import { z } from "zod";

/** The content blocks of messages and tool results (wire §6.2). Text is never empty on the way in. */

export const TextBlock = z.strictObject({ type: z.literal("text"), text: z.string() });

const Base64Source = z.strictObject({
  type: z.literal("base64"),
  data: z.string().min(1),
  media_type: z.string().min(1),
});
const UrlSource = z.strictObject({ type: z.literal("url"), url: z.string().min(1) });
const FileSource = z.strictObject({ type: z.literal("file"), file_id: z.string().min(1) });
const PlainTextSource = z.strictObject({
  type: z.literal("text"),
  data: z.string().min(1),
  media_type: z.literal("text/plain"),
});

export const ImageBlock = z.strictObject({
  type: z.literal("image"),
  source: z.discriminatedUnion("type", [Base64Source, UrlSource, FileSource]),
});

export const DocumentBlock = z.strictObject({
  type: z.literal("document"),
  source: z.discriminatedUnion("type", [Base64Source, PlainTextSource, UrlSource, FileSource]),
  title: z.string().nullable().exactOptional(),
  context: z.string().nullable().exactOptional(),
});

export const SearchResultBlock = z.strictObject({
  type: z.literal("search_result"),
  source: z.string(),
  title: z.string(),
  content: z.array(TextBlock),
  citations: z.strictObject({ enabled: z.boolean() }),
});

/** Stands where content was withheld by policy; servers send it, clients may not. */
export const RedactedBlock = z.strictObject({ type: z.literal("redacted") });

export const MessageBlock = z.discriminatedUnion("type", [TextBlock, ImageBlock, DocumentBlock]);
export const ResultBlock = z.discriminatedUnion("type", [
  TextBlock,
  ImageBlock,
  DocumentBlock,
  SearchResultBlock,
]);

export type TextBlock = z.infer<typeof TextBlock>;
export type ImageBlock = z.infer<typeof ImageBlock>;
export type DocumentBlock = z.infer<typeof DocumentBlock>;
export type SearchResultBlock = z.infer<typeof SearchResultBlock>;
export type RedactedBlock = z.infer<typeof RedactedBlock>;
export type MessageBlock = z.infer<typeof MessageBlock>;
export type ResultBlock = z.infer<typeof ResultBlock>;
