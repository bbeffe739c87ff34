import { z } from "zod";
import { DocumentBlock, ImageBlock, RedactedBlock, ResultBlock, TextBlock } from "../content.ts";
import { clientEvent, ofChild, serverEvent } from "./envelope.ts";

/** What clients sent, as it is shown (wire §6.3). */

/** The blocks of messages; `redacted` stands where policy withheld one. */
export const ShownMessageBlock = z.discriminatedUnion("type", [
  TextBlock,
  ImageBlock,
  DocumentBlock,
  RedactedBlock,
]);

export const UserMessageEvent = z.object({
  type: z.literal("user.message"),
  ...clientEvent,
  content: z.array(ShownMessageBlock),
});

export const UserInterruptEvent = z.object({
  type: z.literal("user.interrupt"),
  ...clientEvent,
  session_thread_id: z.string().nullable().exactOptional(),
});

export const UserToolConfirmationEvent = z.object({
  type: z.literal("user.tool_confirmation"),
  ...clientEvent,
  ...ofChild,
  tool_use_id: z.string(),
  result: z.enum(["allow", "deny"]),
  deny_message: z.string().nullable().exactOptional(),
});

/** What a tool gave, whoever ran it. */
export const toolResult = {
  content: z.array(ResultBlock).exactOptional(),
  is_error: z.boolean().nullable().exactOptional(),
};

export const UserCustomToolResultEvent = z.object({
  type: z.literal("user.custom_tool_result"),
  ...clientEvent,
  ...ofChild,
  custom_tool_use_id: z.string(),
  ...toolResult,
});

export const UserToolResultEvent = z.object({
  type: z.literal("user.tool_result"),
  ...clientEvent,
  ...ofChild,
  tool_use_id: z.string(),
  ...toolResult,
});

export const Rubric = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), content: z.string() }),
  z.object({ type: z.literal("file"), file_id: z.string() }),
]);

/** The one event of a client that always has a time. */
export const UserDefineOutcomeEvent = z.object({
  type: z.literal("user.define_outcome"),
  ...serverEvent,
  outcome_id: z.string(),
  description: z.string(),
  rubric: Rubric,
  max_iterations: z.number().int().nullable(),
});

export const SystemMessageEvent = z.object({
  type: z.literal("system.message"),
  ...clientEvent,
  content: z.array(TextBlock),
});
