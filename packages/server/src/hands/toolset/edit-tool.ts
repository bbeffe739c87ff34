import { z } from "zod";
import {
  parseInput,
  refusalsOf,
  resolvePath,
  success,
  type ToolContext,
  ToolError,
  type ToolText,
} from "./tool-call.ts";

const FILE_BYTES_MAX = 8 * 1024 * 1024;

const EditInput = z.object({
  file_path: z.string().min(1, "is required"),
  old_string: z.string().min(1, "is required"),
  new_string: z.string(),
  replace_all: z.boolean().nullish(),
});

/** Works on bytes: what the file has besides the replaced text stays as it is, also if it is no UTF-8. */
export async function editTool(input: unknown, { sandbox }: ToolContext): Promise<ToolText> {
  const edit = parseInput("edit", EditInput, input);
  const { file_path } = edit;
  const path = resolvePath(file_path);
  const range = { offset: 0, limit: FILE_BYTES_MAX + 1 };
  const file = await refusalsOf("edit", file_path, sandbox.read(path, range));
  if (file.bytes.byteLength > FILE_BYTES_MAX) {
    throw new ToolError(
      `edit: ${file_path} is ${file.size_bytes} bytes, more than ${FILE_BYTES_MAX}`,
    );
  }
  const pieces = split(Buffer.from(file.bytes), Buffer.from(edit.old_string));
  const count = pieces.length - 1;
  if (count === 0) throw new ToolError(`edit: old_string not found in ${file_path}`);
  if (count > 1 && !edit.replace_all) {
    throw new ToolError(
      `edit: old_string appears ${count} times in ${file_path}: it must be unique, or set replace_all`,
    );
  }
  const content = joined(pieces, Buffer.from(edit.new_string));
  if (content.byteLength > 2 * FILE_BYTES_MAX) {
    throw new ToolError(`edit: ${file_path} would become ${content.byteLength} bytes`);
  }
  await refusalsOf("edit", file_path, sandbox.write(path, content));
  return success(`edited ${file_path} (${count} replacement(s))`);
}

function split(content: Buffer, separator: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  let start = 0;
  for (;;) {
    const found = content.indexOf(separator, start);
    if (found < 0) break;
    pieces.push(content.subarray(start, found));
    start = found + separator.byteLength;
  }
  pieces.push(content.subarray(start));
  return pieces;
}

function joined(pieces: readonly Buffer[], separator: Buffer): Buffer {
  return Buffer.concat(
    pieces.flatMap((piece, index) => (index === 0 ? [piece] : [separator, piece])),
  );
}
