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
import { text } from "./text.ts";

/** Sessions made from the log of another one: beyond the contract, under `/v1/drover`. */

const titleMax = 2048;

/** Without `event_id`, all of the log. What is left out is as the other session has it. */
export const SessionForkParams = z.strictObject({
  event_id: Id.nullish(),
  title: text(titleMax).nullish(),
  metadata: Metadata.optional(),
  /** As the overrides of a new session. */
  agent: z
    .strictObject({
      model: ModelConfigParams.optional(),
      system: text(systemMax).nullish(),
      tools: ToolsParams.nullish(),
      mcp_servers: McpServersParams.nullish(),
      skills: SkillsParams.nullish(),
    })
    .optional(),
  /** `empty`: go on without the files of the other session's sandbox. */
  workspace: z.enum(["empty"]).optional(),
});

export type SessionForkParams = z.infer<typeof SessionForkParams>;
