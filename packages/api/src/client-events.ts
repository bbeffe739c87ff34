import { z } from "zod";
import { MessageBlock, ResultBlock, TextBlock } from "./content.ts";

/** What a client may post to `…/events` (wire §6.3). Unknown keys are refused by name. */

export const UserMessageParams = z.strictObject({
  type: z.literal("user.message"),
  content: z.array(MessageBlock).min(1),
});

export const UserInterruptParams = z.strictObject({
  type: z.literal("user.interrupt"),
  session_thread_id: z.string().nullish(),
});

/** Answers are routed by the id of the call: the thread that a client names with one is ignored. */
const ignoredThread = { session_thread_id: z.string().nullish() };

/** Characters: the reason is kept with what the session is in the middle of, until the model is told. */
const denyMessageMax = 10_000;

export const UserToolConfirmationParams = z.strictObject({
  type: z.literal("user.tool_confirmation"),
  tool_use_id: z.string().min(1),
  result: z.enum(["allow", "deny"]),
  deny_message: z.string().max(denyMessageMax).nullish(),
  ...ignoredThread,
});

export const UserCustomToolResultParams = z.strictObject({
  type: z.literal("user.custom_tool_result"),
  custom_tool_use_id: z.string().min(1),
  content: z.array(ResultBlock).optional(),
  is_error: z.boolean().nullish(),
  ...ignoredThread,
});

export const UserToolResultParams = z.strictObject({
  type: z.literal("user.tool_result"),
  tool_use_id: z.string().min(1),
  content: z.array(ResultBlock).optional(),
  is_error: z.boolean().nullish(),
  ...ignoredThread,
});

export const UserDefineOutcomeParams = z.strictObject({
  type: z.literal("user.define_outcome"),
  description: z.string().min(1),
  rubric: z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("text"), content: z.string().min(1).max(262_144) }),
    z.strictObject({ type: z.literal("file"), file_id: z.string().min(1) }),
  ]),
  max_iterations: z.number().int().min(1).max(20).nullish(),
});

export const SystemMessageParams = z.strictObject({
  type: z.literal("system.message"),
  content: z.array(TextBlock).min(1).max(1000),
});

export const ClientEventParams = z.discriminatedUnion("type", [
  UserMessageParams,
  UserInterruptParams,
  UserToolConfirmationParams,
  UserCustomToolResultParams,
  UserToolResultParams,
  UserDefineOutcomeParams,
  SystemMessageParams,
]);

const sendMax = 100;
export const EventSendParams = z.strictObject({
  events: z.array(ClientEventParams).min(1).max(sendMax),
});

export type UserMessageParams = z.infer<typeof UserMessageParams>;
export type UserInterruptParams = z.infer<typeof UserInterruptParams>;
export type UserToolConfirmationParams = z.infer<typeof UserToolConfirmationParams>;
export type UserCustomToolResultParams = z.infer<typeof UserCustomToolResultParams>;
export type UserToolResultParams = z.infer<typeof UserToolResultParams>;
export type UserDefineOutcomeParams = z.infer<typeof UserDefineOutcomeParams>;
export type SystemMessageParams = z.infer<typeof SystemMessageParams>;
export type ClientEventParams = z.infer<typeof ClientEventParams>;
