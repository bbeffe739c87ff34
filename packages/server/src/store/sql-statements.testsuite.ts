/** A statement of SQL as it stands in a source file, taken apart as far as its tables and conditions. */
export interface Statement {
  /** The function that holds it. */
  readonly of: string;
  readonly uses: readonly TableUse[];
  /** Names that the statement itself gives to its parts (`with page as …`). */
  readonly names: ReadonlySet<string>;
}

export interface TableUse {
  readonly how: "insert" | "other";
  readonly table: string;
  /** What its columns are called by; the table's own name if it has no other. */
  readonly alias: string;
  /** The text between the parentheses after an `insert into`. */
  readonly columns: string;
  /** What must all hold for a row of it to be used, values as `⟦expression⟧`. */
  readonly conditions: readonly string[];
  /** True if one of several conditions is enough. */
  readonly isOpen: boolean;
}

interface Template {
  readonly text: string;
  readonly start: number;
}

/** The statements in all `sql` templates of a source file, also those within others. */
export function statementsIn(source: string): Statement[] {
  const templates = templatesOf(source).filter(({ start }) => !isConstant(source, start));
  return templates
    .flatMap((template) => expanded(template, source))
    .flatMap(({ text, start }) => {
      const scopes = scopesOf(text);
      const names = new Set(
        [...text.matchAll(/(?:\bwith|,)\s+(\w+) as (?:materialized )?\(/g)].map(
          ([, name]) => name ?? "",
        ),
      );
      const uses = scopes.flatMap((scope) => usesOf(scope, source));
      return uses.length === 0 ? [] : [{ of: functionAt(source, start), uses, names }];
    });
}

/**
 * The functions that hold a piece with an `or` outside of parentheses, which would loosen the conditions
 * beside which it is put.
 */
export function loosePiecesIn(source: string): string[] {
  return templatesOf(source)
    .filter(({ text }) => !/^(?:select|insert|update|delete|with)\b/.test(text))
    .filter(({ text }) => splitTop(text, "or").length > 1)
    .map(({ start }) => functionAt(source, start));
}

/** Each `sql` template with its holes as `⟦expression⟧`; a hole that is a template is `⟦sql⟧`. */
function templatesOf(source: string): Template[] {
  const found: Template[] = [];
  for (const { index } of source.matchAll(/\bsql`/g)) {
    let text = "";
    let at = index + 4;
    while (source[at] !== "`") {
      if (source.startsWith("${", at)) {
        const end = endOfHole(source, at + 2);
        const expression = source.slice(at + 2, end).trim();
        text += `⟦${holeOf(expression)}⟧`;
        at = end + 1;
      } else {
        text += source[at];
        at += 1;
      }
    }
    found.push({ text: text.replaceAll(/\s+/g, " ").trim(), start: index });
  }
  return found;
}

/** Without blanks; templates within it are statements or pieces of their own. */
function holeOf(expression: string): string {
  const bare = expression.replaceAll(/\bsql`(?:[^`$]|\$\{[^}]*\})*`/g, "sql");
  return bare.replaceAll(/\s+/g, "");
}

/** Pieces that statements of the file are made of are looked at where they stand in one. */
function isConstant(source: string, start: number): boolean {
  return /\n(?:const \w+ = |function \w+\([^\n]*\): Query \{\n {2}return )$/.test(
    source.slice(0, start),
  );
}

/** The template with the pieces of its own file put in: constants, functions, and either side of `?:`. */
function expanded(template: Template, source: string): Template[] {
  const { text, start } = template;
  const either = /⟦[^⟧?]+\?(\w+):(\w+)⟧/.exec(text);
  if (either !== null) {
    return [either[1], either[2]].flatMap((name) =>
      expanded({ text: text.replace(either[0], `⟦${name}⟧`), start }, source),
    );
  }
  const whole = text.replaceAll(/⟦(.+?)⟧/g, (hole, expression: string) => {
    const all = /^allOf\(\[(.*)\]\)$/.exec(expression)?.[1];
    if (all !== undefined)
      return itemsOf(all)
        .map((item) => pieceOf(item, { source, start }))
        .join(" and ");
    return pieceOf(expression, { source, start }, hole);
  });
  return whole === text ? [template] : expanded({ text: whole, start }, source);
}

/** The text of a constant, or of what a function returns, if it is one piece of SQL. */
function pieceOf(expression: string, file: SourceBefore, otherwise = "⟦sql⟧"): string {
  const [, name, call] = /^(\w+)(\(.*\))?$/.exec(expression) ?? [];
  if (name === undefined) return otherwise;
  const start = call === undefined ? startOfConstant(name, file) : startOfFunction(name, file);
  if (start === undefined) return otherwise;
  return templatesOf(file.source).find((template) => template.start === start)?.text ?? otherwise;
}

interface SourceBefore {
  readonly source: string;
  /** Where the statement stands. */
  readonly start: number;
}

function startOfFunction(name: string, { source }: SourceBefore): number | undefined {
  const head = String.raw`\nfunction ${name}\([^\n]*\): Query \{\n {2}return (?=sql\x60)`;
  return endOf(new RegExp(head).exec(source));
}

/** Of the file, or of the function that the statement stands in. */
function startOfConstant(name: string, { source, start }: SourceBefore): number | undefined {
  const ofFile = new RegExp(String.raw`\nconst ${name} = (?=sql\x60)`).exec(source);
  if (ofFile !== null) return endOf(ofFile);
  const body = source.lastIndexOf("\n}", start);
  const own = new RegExp(String.raw`\n +const ${name} = (?=sql\x60)`).exec(
    source.slice(body, start),
  );
  return own === null ? undefined : body + own.index + own[0].length;
}

function endOf(match: RegExpExecArray | null): number | undefined {
  return match === null ? undefined : match.index + match[0].length;
}

/** The items of a list that are always in it; others may be absent. */
function itemsOf(list: string): string[] {
  const items: string[] = [];
  let depth = 0;
  let item = "";
  for (const character of `${list},`) {
    if ("([{".includes(character)) depth += 1;
    if (")]}".includes(character)) depth -= 1;
    if (character === "," && depth === 0) {
      items.push(item);
      item = "";
    } else item += character;
  }
  return items.filter((each) => each !== "" && !/[?]|^\.\.\./.test(each));
}

/** Where the hole that begins at `at` ends: its `}`. */
function endOfHole(source: string, at: number): number {
  let depth = 0;
  for (let i = at; ; i += 1) {
    const character = source[i];
    if (character === undefined) throw new Error("a template has no end");
    if (character === "`") i = endOfTemplate(source, i + 1);
    else if (character === '"' || character === "'") i = source.indexOf(character, i + 1);
    else if (character === "{") depth += 1;
    else if (character === "}") {
      if (depth === 0) return i;
      depth -= 1;
    }
  }
}

function endOfTemplate(source: string, at: number): number {
  for (let i = at; ; i += 1) {
    if (source[i] === "`") return i;
    if (source.startsWith("${", i)) i = endOfHole(source, i + 2);
  }
}

/** The text, and that of each `select` in parentheses within it, without those inside. */
function scopesOf(text: string): string[] {
  const scopes: string[] = [];
  let own = "";
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === "(" && /^\(\s*(?:select|with)\b/.test(text.slice(at))) {
      const end = closing(text, at);
      scopes.push(...scopesOf(text.slice(at + 1, end)));
      own += "(…)";
      at = end;
    } else {
      own += text[at];
    }
  }
  // What is united stands side by side, each with conditions of its own.
  return [...scopes, ...own.split(/\bunion(?: all)?\b/)].map((scope) => scope.trim());
}

function closing(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length; at += 1) {
    if (text[at] === "(") depth += 1;
    if (text[at] === ")") depth -= 1;
    if (depth === 0) return at;
  }
  throw new Error(`no end of parentheses in ${text}`);
}

const END =
  /⟦pageEnd\b|\b(?:where|group by|order by|limit|returning|on conflict|for update|inner join|left join|join)\b/;

const USE = /(?<!do )\b(insert into|from|join|update)\s+(⟦[^⟧]*⟧|\w+)(?:\s+(?:as\s+)?(\w+))?/g;
/** What may follow a table that has no other name. */
const NO_ALIAS =
  /^(?:set|where|join|left|inner|on|order|group|limit|values|for|returning|select|union|)$/;

function usesOf(scope: string, source: string): TableUse[] {
  const where = clause(scope, /\bwhere\b/);
  const isOpen = splitTop(where, "or").length > 1;
  return [...scope.matchAll(USE)].flatMap((match) => {
    const [whole, word = "", table = "", next = ""] = match;
    const isAlias = !NO_ALIAS.test(next);
    const end = match.index + whole.length - (isAlias ? 0 : next.length);
    const rest = scope.slice(end);
    const on = word === "join" ? clause(rest, /\bon\b/) : "";
    const use: TableUse = {
      how: word === "insert into" ? "insert" : "other",
      table,
      alias: isAlias ? next : table,
      columns: word === "insert into" ? columnsAfter(scope.slice(match.index), source) : "",
      conditions: [...splitTop(where, "and"), ...splitTop(on, "and")],
      isOpen,
    };
    // `from a, b` would hide the second.
    const second = word === "from" ? /^\s*,\s*(\w+)/.exec(rest)?.[1] : undefined;
    return second === undefined ? [use] : [use, { ...use, table: second, conditions: [] }];
  });
}

function columnsAfter(insert: string, source: string): string {
  const open = insert.indexOf("(");
  const list = insert.slice(open, closing(insert, open) + 1);
  return list.replaceAll(/⟦(\w+)⟧/g, (_, name) => {
    const constant = new RegExp(`const ${name} = sql\`([^\`]*)\``).exec(source);
    return constant?.[1] ?? "";
  });
}

/** The text after the first of these words, up to the next clause; empty if there is none. */
function clause(text: string, word: RegExp): string {
  const start = firstAtTop(text, word);
  if (start === undefined) return "";
  const rest = text.slice(start.end);
  return rest.slice(0, firstAtTop(rest, END)?.at ?? rest.length);
}

function firstAtTop(text: string, word: RegExp): { at: number; end: number } | undefined {
  for (const match of text.matchAll(new RegExp(word.source, "g"))) {
    if (depthAt(text, match.index) === 0)
      return { at: match.index, end: match.index + match[0].length };
  }
  return undefined;
}

function depthAt(text: string, at: number): number {
  const before = text.slice(0, at);
  return before.split("(").length - before.split(")").length;
}

/** The parts between the word where it stands outside of parentheses and of `case … end`. */
function splitTop(text: string, word: "and" | "or"): string[] {
  const parts: string[] = [];
  let from = 0;
  for (const match of text.matchAll(new RegExp(String.raw`\b${word}\b`, "g"))) {
    if (depthAt(text, match.index) !== 0) continue;
    parts.push(text.slice(from, match.index));
    from = match.index + word.length;
  }
  return [...parts, text.slice(from)].map((part) => part.trim()).filter((part) => part !== "");
}

/** The last function that begins before the place. */
function functionAt(source: string, at: number): string {
  const before = source.slice(0, at);
  const names = [...before.matchAll(/\bfunction (\w+)|^ {4}(\w+): (?:async )?\(/gm)];
  const last = names.at(-1);
  return last?.[1] ?? last?.[2] ?? "";
}
