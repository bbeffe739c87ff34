import { z } from "zod";
import {
  McpServersParams,
  ModelConfigParams,
  SkillsParams,
  systemMax,
  ToolsParams,
} from "./agents.ts";
import { Id } from "./ids.ts";
import { Metadata } from "./metadata.ts";
import { QueryBoolean } from "./pagination.ts";
import { text } from "./text.ts";

/** Sessions made from the log of another one: beyond the contract, under `/v1/drover`. */

const titleMax = 2048;
const replayRequestsMax = 500;

/** As those of a new session. */
const AgentOverrides = z.strictObject({
  model: ModelConfigParams.optional(),
  system: text(systemMax).nullish(),
  tools: ToolsParams.nullish(),
  mcp_servers: McpServersParams.nullish(),
});

/** Without `event_id`, all of the log. What is left out is as the other session has it. */
export const SessionForkParams = z.strictObject({
  event_id: Id.nullish(),
  title: text(titleMax).nullish(),
  metadata: Metadata.optional(),
  agent: AgentOverrides.extend({ skills: SkillsParams.nullish() }).optional(),
  /** `empty`: go on without the files of the other session's sandbox. */
  workspace: z.enum(["empty"]).optional(),
});

/**
 * The environment to go on in; without it, the one that the file names. `new_ids` makes it another session
 * than the one that was exported, whose ids may be taken here. `workspace` as for a fork.
 */
export const SessionImportQuery = z.strictObject({
  environment_id: Id.optional(),
  new_ids: QueryBoolean.optional(),
  workspace: z.enum(["empty"]).optional(),
});

/** Which requests are asked again, the first ones if there are more than `max_requests`, and of whom. */
export const SessionReplayParams = z.strictObject({
  agent: AgentOverrides.optional(),
  from_event_id: Id.nullish(),
  to_event_id: Id.nullish(),
  max_requests: z.number().int().min(1).max(replayRequestsMax).optional(),
});

export type SessionForkParams = z.infer<typeof SessionForkParams>;
export type SessionImportQuery = z.infer<typeof SessionImportQuery>;
export type SessionReplayParams = z.infer<typeof SessionReplayParams>;
