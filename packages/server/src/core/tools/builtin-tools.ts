import type { ModelTool } from "../ports/model.ts";
import { WEB_TOOLS } from "./web-tools.ts";

/** The tools of `agent_toolset_20260401`, as the model is offered them (wire §17.7). */
export const BUILTIN_TOOLS: readonly ModelTool[] = [
  {
    name: "bash",
    description:
      "Run a bash command in a persistent shell: working directory, variables and functions stay from one command to the next. Returns stdout and stderr together. A command that runs longer than its timeout is killed together with the shell and everything started in it. stdin is empty. Start long-running programs in the background with their output in a file. Put files for the user into /mnt/session/outputs.",
    input_schema: {
      type: "object",
      properties: {
        command: { type: "string", description: "The command to run." },
        restart: {
          type: "boolean",
          description: "Restart the shell first, ending everything that was started in it.",
        },
        timeout_ms: {
          type: "integer",
          description: "Milliseconds the command may take. Default 120000, at most 36000000.",
        },
      },
    },
  },
  {
    name: "read",
    description:
      "Read a text file. Relative paths start at /workspace. Files over 256 KiB need a view_range.",
    input_schema: {
      type: "object",
      properties: {
        file_path: { type: "string", description: "The file to read." },
        view_range: {
          type: "array",
          items: { type: "integer" },
          description:
            "[start_line, end_line], counted from 1, both included; an end of 0 or less is the end of the file.",
        },
      },
      required: ["file_path"],
    },
  },
  {
    name: "write",
    description:
      "Write a text file, replacing what is there and creating missing directories. Relative paths start at /workspace.",
    input_schema: {
      type: "object",
      properties: {
        file_path: { type: "string", description: "The file to write." },
        content: { type: "string", description: "The whole new content of the file." },
      },
      required: ["file_path", "content"],
    },
  },
  {
    name: "edit",
    description:
      "Replace old_string by new_string in a file. old_string must match exactly, and occur only once unless replace_all is set.",
    input_schema: {
      type: "object",
      properties: {
        file_path: { type: "string", description: "The file to change." },
        old_string: { type: "string", description: "The text to be replaced." },
        new_string: { type: "string", description: "The text to put in its place." },
        replace_all: { type: "boolean", description: "Replace every occurrence." },
      },
      required: ["file_path", "old_string", "new_string"],
    },
  },
  {
    name: "glob",
    description:
      "Find files by a glob pattern such as `**/*.ts` or `src/{a,b}/*.md`. Returns at most 200 paths, newest first. .git and node_modules are left out.",
    input_schema: {
      type: "object",
      properties: {
        pattern: { type: "string", description: "A relative pattern, without `..`." },
        path: { type: "string", description: "The directory to search. Default /workspace." },
      },
      required: ["pattern"],
    },
  },
  {
    name: "grep",
    description:
      "Search the content of files for a regular expression. Returns `file:line:text` for each match.",
    input_schema: {
      type: "object",
      properties: {
        pattern: { type: "string", description: "The regular expression." },
        path: { type: "string", description: "A file or directory. Default /workspace." },
      },
      required: ["pattern"],
    },
  },
  ...WEB_TOOLS,
];
