import { z } from "zod";
import {
  parseInput,
  refusalsOf,
  resolvePath,
  success,
  type ToolContext,
  type ToolText,
} from "./tool-call.ts";

const WriteInput = z.object({
  file_path: z.string().min(1, "is required"),
  content: z.string(),
});

export async function writeTool(input: unknown, { sandbox }: ToolContext): Promise<ToolText> {
  const { file_path, content } = parseInput("write", WriteInput, input);
  const bytes = Buffer.from(content);
  await refusalsOf("write", file_path, sandbox.write(resolvePath(file_path), bytes));
  return success(`wrote ${bytes.byteLength} bytes to ${file_path}`);
}
