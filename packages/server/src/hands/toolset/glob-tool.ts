import { z } from "zod";
import { bounded, decoded } from "./excerpt.ts";
import { globMatcher, type PathMatcher } from "./glob-pattern.ts";
import {
  parseInput,
  refusalsOf,
  resolvePath,
  success,
  type ToolContext,
  ToolError,
  type ToolText,
} from "./tool-call.ts";

const RESULTS_MAX = 200;
const SEARCH_MS = 60_000;
const LISTING_BYTES_MAX = 32 * 1024 * 1024;

const GlobInput = z.object({
  pattern: z.string().min(1, "is required"),
  path: z.string().nullish(),
});

export async function globTool(input: unknown, context: ToolContext): Promise<ToolText> {
  const { pattern, path } = parseInput("glob", GlobInput, input);
  if (pattern.startsWith("/")) throw new ToolError("glob: pattern: must be relative; see path");
  if (pattern.split(/[\\/{},]/).includes("..")) {
    throw new ToolError('glob: pattern: ".." is not permitted');
  }
  const matches = globMatcher(pattern);
  if (!matches) throw new ToolError("glob: pattern: is too long or has too many alternatives");
  const root = resolvePath(path);
  const { files, isCut } = await matchingFiles(root, matches, context);
  const newest = files.sort((a, b) => b.modified - a.modified).slice(0, RESULTS_MAX);
  const lines = newest.map((file) => (root === "/" ? `/${file.path}` : `${root}/${file.path}`));
  if (lines.length === 0) lines.push("no matches");
  if (isCut) lines.push("[the search was cut short]");
  return success(await bounded(context.sandbox, "glob", lines.join("\n")));
}

interface FoundFile {
  /** Seconds. */
  readonly modified: number;
  readonly path: string;
}

async function matchingFiles(
  root: string,
  matches: PathMatcher,
  { sandbox, signal }: ToolContext,
): Promise<{ files: FoundFile[]; isCut: boolean }> {
  const skipped = ["(", "-name", ".git", "-o", "-name", "node_modules", ")", "-prune"];
  const printed = ["-type", "f", "-printf", "%T@ %P\\0"];
  // The slash makes a link to a directory one; links below are not followed.
  const argv = ["find", `${root}/`, "-mindepth", "1", ...skipped, "-o", ...printed];
  const request = { argv, timeoutMs: SEARCH_MS, stdoutBytesMax: LISTING_BYTES_MAX };
  const found = await refusalsOf("glob", root, sandbox.run(request, signal));
  if (found.ended === "cancelled") throw new ToolError("glob: cancelled");
  if (found.stdout.byteLength === 0 && found.exitCode !== 0 && found.ended === "exited") {
    throw new ToolError(`glob: ${decoded(found.stderr).trim() || "find failed"}`);
  }
  const entries = decodedEntries(found.stdout);
  return { files: entries.filter(({ path }) => matches(path)), isCut: found.ended !== "exited" };
}

function decodedEntries(listing: Uint8Array): FoundFile[] {
  const entries = Buffer.from(listing).toString("utf8").split("\0");
  // After the last NUL is nothing, or an entry that was cut.
  entries.pop();
  return entries.map((entry) => {
    const space = entry.indexOf(" ");
    return { modified: Number(entry.slice(0, space)) || 0, path: entry.slice(space + 1) };
  });
}
