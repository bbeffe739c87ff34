import { z } from "zod";
import { type RunResult, SandboxFileError } from "../../core/ports/sandbox.ts";
import { bounded, decoded } from "./excerpt.ts";
import {
  parseInput,
  refusalsOf,
  resolvePath,
  success,
  type ToolContext,
  ToolError,
  type ToolText,
} from "./tool-call.ts";

const SEARCH_MS = 60_000;
const OUTPUT_BYTES_MAX = 100 * 1024;
const PATTERN_CHARS_MAX = 10_000;
const LINE_COLUMNS_MAX = 2000;
/** Of both programs: nothing was found. */
const NOTHING_FOUND = 1;

const GrepInput = z.object({
  pattern: z.string().min(1, "is required").max(PATTERN_CHARS_MAX),
  path: z.string().nullish(),
});

export async function grepTool(input: unknown, context: ToolContext): Promise<ToolText> {
  const { pattern, path } = parseInput("grep", GrepInput, input);
  const root = resolvePath(path);
  const result = await refusalsOf("grep", path ?? root, search(pattern, root, context));
  if (result.ended === "cancelled") throw new ToolError("grep: cancelled");
  const found = decoded(result.stdout).trimEnd();
  if (result.ended === "timeout") {
    const seconds = SEARCH_MS / 1000;
    if (found === "") throw new ToolError(`grep: timed out after ${seconds} s`);
    return success(`${found}\n[the search was cut short after ${seconds} s]`);
  }
  if (result.ended === "full") {
    const text = `${found}\n[output truncated at ${OUTPUT_BYTES_MAX} bytes]`;
    return success(await bounded(context.sandbox, "grep", text));
  }
  if (found !== "") return success(await bounded(context.sandbox, "grep", found));
  if (result.exitCode === NOTHING_FOUND) return success("no matches");
  throw new ToolError(`grep: ${decoded(result.stderr).trim() || "the search failed"}`);
}

/** By ripgrep if the sandbox has it, else by grep. */
async function search(
  pattern: string,
  root: string,
  { sandbox, signal }: ToolContext,
): Promise<RunResult> {
  const run = (argv: readonly string[]) => {
    return sandbox.run({ argv, timeoutMs: SEARCH_MS, stdoutBytesMax: OUTPUT_BYTES_MAX }, signal);
  };
  const columns = ["--max-columns", String(LINE_COLUMNS_MAX), "--max-columns-preview"];
  const style = ["--no-heading", "--color", "never", "--sort", "path", ...columns];
  try {
    return await run(["rg", "--no-config", "-nH", ...style, "-e", pattern, "--", root]);
  } catch (error) {
    if (!(error instanceof SandboxFileError) || error.code !== "ENOENT") throw error;
  }
  const skipped = ["--exclude-dir=.git", "--exclude-dir=node_modules"];
  return await run(["grep", "-rnHIE", ...skipped, "-e", pattern, "--", root]);
}
