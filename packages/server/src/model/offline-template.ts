import { boundedMatch } from "./bounded-match.ts";
import { ScriptError } from "./offline-script.ts";

const MAX_RENDERED_CHARS = 1024 * 1024;
const MAX_TEMPLATES = 1_000;
/** For all regular expressions of one response together. */
const MATCH_BUDGET_MS = 200;
const TOKEN = /\s*(?:(\|)|("(?:[^"\\]|\\.)*")|(-?\d+)(?![\w.])|([a-z_]\w*(?:\.\d+)?))/y;

/** What templates can speak of. */
export interface TemplateValues {
  /** Texts of the results since the script began, in the order of the calls. */
  readonly results: readonly string[];
  /** Results of calls that were given a name. */
  readonly named: ReadonlyMap<string, string>;
  /** The text of the user's last message, without the script. */
  readonly user: string;
}

type Argument = string | number;

interface Stage {
  readonly word: string;
  readonly args: readonly Argument[];
}

type Filter = (value: string, args: readonly Argument[]) => string;

/** Fills in `{{ … }}` in the strings of a response. One renderer a response: it keeps its budget. */
export class TemplateRenderer {
  readonly #values: TemplateValues;
  #templates = 0;
  #matchMs = MATCH_BUDGET_MS;

  constructor(values: TemplateValues) {
    this.#values = values;
  }

  /** The text with every template filled in. Throws `ScriptError` where one has no value. */
  text(text: string): string {
    const parts: string[] = [];
    let at = 0;
    for (;;) {
      const open = text.indexOf("{{", at);
      if (open < 0) break;
      const close = endOfTemplate(text, open + 2);
      parts.push(text.slice(at, open), this.#evaluate(text.slice(open + 2, close)));
      at = close + 2;
    }
    const rendered = parts.join("") + text.slice(at);
    if (rendered.length > MAX_RENDERED_CHARS) {
      throw new ScriptError(
        `A text of the script is longer than ${MAX_RENDERED_CHARS} characters.`,
      );
    }
    return rendered;
  }

  /** The same value with the templates in its strings filled in; keys stay as they are. */
  value(value: unknown): unknown {
    if (typeof value === "string") return this.text(value);
    if (Array.isArray(value)) return value.map((item) => this.value(item));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.value(item)]));
  }

  #evaluate(source: string): string {
    this.#templates += 1;
    if (this.#templates > MAX_TEMPLATES) {
      throw new ScriptError(`The script has more than ${MAX_TEMPLATES} templates in one response.`);
    }
    const [first, ...filters] = parseTemplate(source);
    let value: string | ScriptError = attempt(() => this.#source(first, source));
    for (const { word, args } of filters) {
      const before = value;
      if (word === "default") {
        if (before instanceof ScriptError) value = String(args[0] ?? "");
      } else if (!(before instanceof ScriptError)) {
        value = attempt(() => this.#filter(word)(before, args));
      }
    }
    if (!(value instanceof ScriptError)) return value;
    throw new ScriptError(`The script's {{${source}}} has no value: ${value.message}`);
  }

  #source(stage: Stage | undefined, source: string): string {
    const word = stage?.word ?? "";
    const { results, named, user } = this.#values;
    if (word.startsWith('"')) return stringOf(word);
    if (word === "user") return user;
    const ofCall = named.get(word);
    if (ofCall !== undefined) return ofCall;
    const [base, number] = word.split(".");
    if (base !== "result") throw new ScriptError(`no call before it is named ${word || source}.`);
    const place = number === undefined ? results.length : Number(number);
    const result = results[place - 1];
    if (result !== undefined) return result;
    throw new ScriptError(`there are ${results.length} results so far.`);
  }

  #filter(word: string): Filter {
    if (word === "match") return (value, args) => this.#match(value, args);
    const filter = FILTERS[word];
    if (filter !== undefined) return filter;
    const known = [...Object.keys(FILTERS), "match", "default"].join(", ");
    throw new ScriptError(`there is no filter ${word}; there are ${known}.`);
  }

  #match(value: string, [pattern, group]: readonly Argument[]): string {
    if (typeof pattern !== "string") throw new ScriptError("match takes a pattern in quotes.");
    const startedAt = performance.now();
    const groups = attemptMatch(pattern, value, Math.max(1, Math.round(this.#matchMs)));
    this.#matchMs -= performance.now() - startedAt;
    const wanted = group ?? (groups.length > 1 ? 1 : 0);
    const found = groups[Number(wanted)];
    if (found == null) throw new ScriptError(`nothing matches ${JSON.stringify(pattern)}.`);
    return found;
  }
}

const FILTERS: Readonly<Record<string, Filter>> = {
  trim: (value) => value.trim(),
  line: (value, [number = 1]) => at(linesOf(value), number, "line"),
  lines: (value, [from = 1, to = -1]) => {
    const lines = linesOf(value);
    const picked = lines.slice(placeOf(lines, from), placeOf(lines, to) + 1);
    if (picked.length === 0) throw new ScriptError(`it has ${lines.length} lines.`);
    return picked.join("\n");
  },
  column: (value, [number = 1, separator]) => {
    const columns =
      separator === undefined ? value.trim().split(/\s+/) : value.split(String(separator));
    return at(columns, number, "column").trim();
  },
  number: (value, [number = 1]) => at(value.match(/-?\d+(?:\.\d+)?/g) ?? [], number, "number"),
  json: (value, [path = ""]) => jsonAt(value, String(path)),
};

/** The place of the `}}` that ends a template, not counting those in quotes. */
function endOfTemplate(text: string, from: number): number {
  let isQuoted = false;
  for (let index = from; index < text.length - 1; index += 1) {
    const letter = text[index];
    if (isQuoted && letter === "\\") index += 1;
    else if (letter === '"') isQuoted = !isQuoted;
    else if (!isQuoted && letter === "}" && text[index + 1] === "}") return index;
  }
  const start = text.slice(from, from + 40);
  throw new ScriptError(`The script has {{ without }}: {{${start}. For braces write {{"{{"}}.`);
}

function parseTemplate(source: string): readonly Stage[] {
  const stages: Token[][] = [[]];
  for (const token of tokensOf(source)) {
    if (token.kind === "pipe") stages.push([]);
    else stages.at(-1)?.push(token);
  }
  return stages.map(([first, ...args], place) => {
    const canStart = first?.kind === "word" || (first?.kind === "quoted" && place === 0);
    if (!canStart || args.some(({ kind }) => kind === "word")) throw unreadable(source);
    return {
      word: first.text,
      args: args.map(({ kind, text }) => (kind === "quoted" ? stringOf(text) : Number(text))),
    };
  });
}

interface Token {
  readonly kind: "pipe" | "quoted" | "number" | "word";
  readonly text: string;
}

function tokensOf(source: string): readonly Token[] {
  const text = source.trimEnd();
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const [, pipe, quoted, number, word] = TOKEN.exec(text) ?? [];
    if (pipe !== undefined) tokens.push({ kind: "pipe", text: pipe });
    else if (quoted !== undefined) tokens.push({ kind: "quoted", text: quoted });
    else if (number !== undefined) tokens.push({ kind: "number", text: number });
    else if (word !== undefined) tokens.push({ kind: "word", text: word });
    else throw unreadable(source);
  }
  return tokens;
}

function unreadable(source: string): ScriptError {
  return new ScriptError(
    `The script's {{${source}}} cannot be read: write {{name | filter 1 "text"}}, or for braces {{"{{"}}.`,
  );
}

/** A quoted text, with JSON's escapes; a backslash before anything else stays, for patterns. */
function stringOf(quoted: string): string {
  return quoted
    .slice(1, -1)
    .replace(
      /\\(.)/g,
      (both, letter: string) => ({ '"': '"', "\\": "\\", n: "\n", t: "\t" })[letter] ?? both,
    );
}

function attempt(make: () => string): string | ScriptError {
  try {
    return make();
  } catch (error) {
    if (error instanceof ScriptError) return error;
    throw error;
  }
}

function attemptMatch(pattern: string, text: string, timeoutMs: number) {
  try {
    return boundedMatch(pattern, text, timeoutMs);
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new ScriptError(`${message}.`, { cause });
  }
}

function linesOf(text: string): readonly string[] {
  return text.replace(/\n$/, "").split("\n");
}

function placeOf(items: readonly string[], number: Argument): number {
  const place = Number(number);
  return place < 0 ? items.length + place : place - 1;
}

/** Counted from 1, or from the end with -1. */
function at(items: readonly string[], number: Argument, what: string): string {
  const item = items[placeOf(items, number)];
  if (item !== undefined) return item;
  throw new ScriptError(`it has ${items.length} ${what}${items.length === 1 ? "" : "s"}.`);
}

function jsonAt(text: string, path: string): string {
  let value = parseJson(text);
  for (const key of path.split(".").filter((part) => part !== "")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) {
      throw new ScriptError(`there is nothing at ${path}.`);
    }
    value = Reflect.get(value, key);
  }
  return typeof value === "string" ? value : JSON.stringify(value);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ScriptError("it is not JSON.", { cause });
  }
}
