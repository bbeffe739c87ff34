import type { Dirent } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join, resolve } from "node:path";
import { OperatorError } from "../../lib/operator-error.ts";
import {
  isDefinition,
  type Problem,
  parseMarkdown,
  parseYaml,
  type SourceDocument,
} from "./source-document.ts";

const FILES_MAX = 1_000;
const FOLDERS_DEEP_MAX = 16;
const FILE_BYTES_MAX = 4 * 1024 * 1024;

const YAML = new Set([".yaml", ".yml"]);
const MARKDOWN = new Set([".md", ".markdown"]);
const SKILL_DOCUMENT = "SKILL.md";

interface Found {
  readonly path: string;
  /** Named by the user, not found in a folder: then it must hold definitions. */
  readonly isNamed: boolean;
}

/**
 * The documents of the files, and of all YAML files and Markdown definitions in the folders. Folders of
 * skills and hidden ones are passed over. Rejects with `OperatorError` for a path that cannot be read.
 */
export async function readDefinitionFiles(
  paths: readonly string[],
): Promise<{ documents: readonly SourceDocument[]; problems: readonly Problem[] }> {
  const documents: SourceDocument[] = [];
  const problems: Problem[] = [];
  for (const found of await findFiles(paths)) {
    const parsed = await parseFile(found);
    documents.push(...parsed.documents);
    problems.push(...parsed.problems);
  }
  return { documents, problems };
}

async function findFiles(paths: readonly string[]): Promise<readonly Found[]> {
  const found = new Map<string, Found>();
  for (const path of paths) {
    const stats = await stat(path).catch((cause: unknown) => {
      throw new OperatorError(`${path} cannot be read: ${reasonOf(cause)}.`, { cause });
    });
    const files = stats.isDirectory()
      ? (await filesIn(path, 0)).map((each) => ({ path: each, isNamed: false }))
      : [{ path, isNamed: true }];
    for (const each of files) found.set(resolve(each.path), each);
    if (found.size > FILES_MAX) throw new OperatorError(`There are more than ${FILES_MAX} files.`);
  }
  return [...found.values()];
}

async function filesIn(folder: string, depth: number): Promise<string[]> {
  if (depth > FOLDERS_DEEP_MAX) {
    throw new OperatorError(`${folder} lies more than ${FOLDERS_DEEP_MAX} folders deep.`);
  }
  const entries = await readdir(folder, { withFileTypes: true });
  if (entries.some(({ name }) => name === SKILL_DOCUMENT)) return [];
  const files: string[] = [];
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (isPassedOver(entry)) continue;
    if (entry.isDirectory()) files.push(...(await filesIn(path, depth + 1)));
    else if (entry.isFile() && isKnown(extname(path))) files.push(path);
  }
  return files;
}

function isPassedOver({ name }: Dirent): boolean {
  return name.startsWith(".") || name === "node_modules";
}

function isKnown(extension: string): boolean {
  return YAML.has(extension) || MARKDOWN.has(extension);
}

async function parseFile({ path, isNamed }: Found) {
  const extension = extname(path);
  if (!isKnown(extension)) {
    throw new OperatorError(`${path} is neither YAML (.yaml, .yml) nor Markdown (.md).`);
  }
  const { size } = await stat(path);
  if (size > FILE_BYTES_MAX) {
    throw new OperatorError(`${path} is larger than ${FILE_BYTES_MAX} bytes.`);
  }
  const text = await readFile(path, "utf8");
  if (YAML.has(extension)) return parseYaml(path, text);
  if (isNamed || isDefinition(text)) return parseMarkdown(path, text);
  return { documents: [], problems: [] };
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT") return "there is no such file or folder";
  return error instanceof Error ? error.message : String(error);
}
