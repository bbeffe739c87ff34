import type { ResultBlock } from "@drover/api";
import { tamed } from "../../core/harness/tame.ts";
import { type Sandbox, SandboxFileError } from "../../core/ports/sandbox.ts";
import { bashTool } from "./bash-tool.ts";
import { editTool } from "./edit-tool.ts";
import { globTool } from "./glob-tool.ts";
import { grepTool } from "./grep-tool.ts";
import { readTool } from "./read-tool.ts";
import { type Tool, type ToolContext, ToolError, type ToolText } from "./tool-call.ts";
import { writeTool } from "./write-tool.ts";

const TOOLS: ReadonlyMap<string, Tool> = new Map<string, Tool>([
  ["bash", bashTool],
  ["read", readTool],
  ["write", writeTool],
  ["edit", editTool],
  ["glob", globTool],
  ["grep", grepTool],
]);

/** An empty text is not possible in a message to a model. */
const NOTHING = "(no output)";

/**
 * Carries out one call of a built-in tool in a sandbox. What goes wrong in there, and what is wrong
 * with the input, is a result with `is_error`. Rejects with `SandboxGoneError` if the sandbox dies.
 * Aborting the signal ends the call soon, with an error result.
 */
export async function executeTool(
  sandbox: Sandbox,
  call: { readonly name: string; readonly input: Readonly<Record<string, unknown>> },
  onOutput: (chunk: Uint8Array) => void,
  signal: AbortSignal,
): Promise<{ content: readonly ResultBlock[]; is_error: boolean }> {
  const { text, isError } = await answer(call, { sandbox, onOutput, signal });
  return { content: [{ type: "text", text: tamed(text) || NOTHING }], is_error: isError };
}

async function answer(
  { name, input }: { readonly name: string; readonly input: unknown },
  context: ToolContext,
): Promise<ToolText> {
  const tool = TOOLS.get(name);
  if (!tool) return { text: `there is no tool ${JSON.stringify(name)}`, isError: true };
  try {
    return await tool(input, context);
  } catch (error) {
    if (error instanceof ToolError || error instanceof SandboxFileError) {
      const message = error instanceof ToolError ? error.message : `${name}: ${error.message}`;
      return { text: message, isError: true };
    }
    throw error;
  }
}
