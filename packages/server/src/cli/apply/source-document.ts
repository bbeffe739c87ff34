import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  parseAllDocuments,
} from "yaml";

/** Where something stands in a file; both numbers count from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** What is wrong, and where. */
export interface Problem {
  readonly place: Place;
  readonly message: string;
}

type Path = readonly PropertyKey[];

/** One document of a file. */
export interface SourceDocument {
  readonly file: string;
  readonly value: unknown;
  /** Of a field's name or a list's entry; of the innermost one that is there, if `path` goes on. */
  placeOf(path: Path): Place;
}

interface Parsed {
  readonly documents: readonly SourceDocument[];
  readonly problems: readonly Problem[];
}

const START = { line: 1, column: 1 };

/** The documents of a YAML file; empty ones are left out. */
export function parseYaml(file: string, text: string): Parsed {
  return parseLines(file, text, 0);
}

/** A Markdown file as one document: its front matter, and what is below it as `system`. */
export function parseMarkdown(file: string, text: string): Parsed {
  const parts = partsOf(text);
  if (parts === undefined) {
    const message = "must begin with front matter: ---, then fields of an agent, then ---";
    return { documents: [], problems: [{ place: { file, ...START }, message }] };
  }
  const { documents, problems } = parseLines(file, parts.frontMatter, 1);
  const [document] = documents;
  if (document === undefined) return { documents, problems };
  const { value } = document;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const message = "the front matter must hold the fields of an agent";
    return { documents: [], problems: [{ place: document.placeOf([]), message }] };
  }
  if ("system" in value) {
    const message = "system: is what stands below the front matter, and cannot be in it too";
    return { documents: [], problems: [{ place: document.placeOf(["system"]), message }] };
  }
  const body = { file, line: parts.bodyLine, column: 1 };
  return {
    problems,
    documents: [
      {
        file,
        value: { kind: "agent", ...value, system: parts.body },
        placeOf: (path) => (path[0] === "system" ? body : document.placeOf(path)),
      },
    ],
  };
}

/** True of Markdown with front matter that says what kind of definition it is. */
export function isDefinition(text: string): boolean {
  return /^kind:/m.test(partsOf(text)?.frontMatter ?? "");
}

function partsOf(text: string) {
  const found = /^\ufeff?---[ \t]*\r?\n(.*?\n|)---[ \t]*(?:\r?\n|$)/s.exec(text);
  if (found === null) return undefined;
  const [head, frontMatter = ""] = found;
  const bodyLine = head.split("\n").length;
  return { frontMatter, body: text.slice(head.length).trim(), bodyLine };
}

/** `before`: how many lines of the file come before the text. */
function parseLines(file: string, text: string, before: number): Parsed {
  const counter = new LineCounter();
  const at = (offset: number): Place => {
    const { line, col } = counter.linePos(offset);
    return { file, line: line + before, column: col };
  };
  const parsed = parseAllDocuments(text, {
    lineCounter: counter,
    prettyErrors: false,
    logLevel: "silent",
  });
  const documents: SourceDocument[] = [];
  const problems: Problem[] = [];
  for (const document of [...parsed]) {
    for (const { pos, message } of document.errors) problems.push({ place: at(pos[0]), message });
    if (document.errors.length > 0 || document.contents === null) continue;
    try {
      const value: unknown = document.toJS();
      documents.push({ file, value, placeOf: (path) => at(offsetOf(document, path)) });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      problems.push({ place: at(document.range[0]), message });
    }
  }
  return { documents, problems };
}

function offsetOf(document: Document, path: Path): number {
  let offset = rangeStart(document.contents);
  let node: unknown = document.contents;
  for (const part of path) {
    const held = isAlias(node) ? node.resolve(document) : node;
    if (isMap(held)) {
      const pair = held.items.find((item) => keyOf(item) === String(part));
      if (pair === undefined) break;
      offset = rangeStart(pair.key);
      node = pair.value;
    } else if (isSeq(held)) {
      node = held.items[Number(part)];
      if (!isNode(node)) break;
      offset = rangeStart(node);
    } else break;
  }
  return offset;
}

function keyOf({ key }: Pair): string {
  return String(isScalar(key) ? key.value : key);
}

function rangeStart(node: unknown): number {
  return isNode(node) ? (node.range?.[0] ?? 0) : 0;
}
