import type { AgentDefinition } from "@drover/api";
import { InvalidRequestError } from "../errors.ts";

/**
 * Rejects an agent that has skills and no tool to read them with: they are loaded on demand by `read`,
 * and without it they would be there in vain.
 */
export function assertSkillsReadable({
  tools,
  skills,
}: Pick<AgentDefinition, "tools" | "skills">): void {
  if (skills.length === 0) return;
  if (tools.length === 0) {
    throw new InvalidRequestError("agent.tools: skills need tools: clear both or neither");
  }
  const canRead = tools.some((tool) => {
    if (tool.type !== "agent_toolset_20260401") return false;
    return (tool.configs.find(({ name }) => name === "read") ?? tool.default_config).enabled;
  });
  if (canRead) return;
  throw new InvalidRequestError(
    "agent.tools: skills need the tool read of agent_toolset_20260401, by which they are loaded",
  );
}
