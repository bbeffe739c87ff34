import { z } from "zod";
import type { ExecResult } from "../../core/ports/sandbox.ts";
import { limitSentence } from "../../core/sandboxes/limits.ts";
import {
  decoded,
  excerpt,
  newSpillPath,
  OUTPUT_CHARS_MAX,
  SPILL_BYTES_MAX,
  terminalText,
} from "./excerpt.ts";
import { OutputEnds } from "./output-ends.ts";
import {
  parseInput,
  refusalsOf,
  success,
  type ToolContext,
  ToolError,
  type ToolText,
} from "./tool-call.ts";

const DEFAULT_TIMEOUT_MS = 120_000;
const TIMEOUT_MS_MAX = 10 * 60 * 60 * 1000;

const BashInput = z.object({
  command: z.string().nullish(),
  restart: z.boolean().nullish(),
  timeout_ms: z.number().int().positive().nullish(),
});

export async function bashTool(input: unknown, context: ToolContext): Promise<ToolText> {
  const { command, restart, timeout_ms } = parseInput("bash", BashInput, input);
  if (restart) await context.sandbox.restartShell();
  if (!command) {
    if (restart) return success("bash session restarted");
    throw new ToolError("bash: command: is required");
  }
  const timeoutMs = Math.min(timeout_ms ?? DEFAULT_TIMEOUT_MS, TIMEOUT_MS_MAX);
  return await runCommand(command, timeoutMs, context);
}

async function runCommand(
  command: string,
  timeoutMs: number,
  { sandbox, onOutput, signal }: ToolContext,
): Promise<ToolText> {
  const ends = new OutputEnds();
  const take = (chunk: Uint8Array) => {
    ends.append(chunk);
    onOutput(chunk);
  };
  const path = newSpillPath("bash");
  const spill = { path, afterBytes: OUTPUT_CHARS_MAX, bytesMax: SPILL_BYTES_MAX };
  const running = sandbox.exec({ command, timeoutMs, spill }, take, signal);
  const result = await refusalsOf("bash", "command", running);
  const output = outputText(ends, result, path);
  const remark = remarkOn(result, timeoutMs);
  const limits = result.limits?.map(limitSentence) ?? [];
  if (remark !== undefined) return { text: joined(output, ...limits, remark), isError: true };
  if (result.exitCode === 0) return success(joined(output, ...limits));
  return { text: joined(output || `exit ${result.exitCode}`, ...limits), isError: true };
}

function outputText(ends: OutputEnds, result: ExecResult, path: string): string {
  const whole = result.omitted_bytes ? undefined : ends.whole();
  const text = whole && terminalText(decoded(whole));
  if (text !== undefined && text.length <= OUTPUT_CHARS_MAX) return text;
  return excerpt({
    head: terminalText(decoded(ends.head())),
    tail: terminalText(decoded(ends.tail())),
    totalBytes: result.output_bytes ?? whole?.byteLength ?? 0,
    path,
    keptBytes: result.spilled_bytes ?? 0,
  });
}

const AFTERWARDS =
  "The shell and everything started in it were killed; the next command gets a new shell.";

/** What the model must know besides the output; undefined if the command ended by itself. */
function remarkOn(result: ExecResult, timeoutMs: number): string | undefined {
  if (result.ended === "timeout") {
    return `The command timed out after ${timeoutMs} ms. ${AFTERWARDS}`;
  }
  if (result.ended === "cancelled") return `The command was cancelled. ${AFTERWARDS}`;
  if (result.ended === "lost") {
    return "The command was not run: the shell has ended since the last command, and its state is lost. The next command gets a new shell.";
  }
  if (result.exitCode === null) {
    return "The shell was killed by a signal; the next command gets a new shell.";
  }
  return undefined;
}

function joined(output: string, ...remarks: readonly string[]): string {
  if (remarks.length === 0) return output;
  return [...(output === "" ? [] : [output, ""]), ...remarks].join("\n");
}
