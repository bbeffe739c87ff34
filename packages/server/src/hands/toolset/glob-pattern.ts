const ALTERNATIVES_MAX = 256;
const PATTERN_CHARS_MAX = 1000;
const ANY_DEPTH = "**";

/**
 * Whether a relative path matches. Time grows with pattern length times path length at most, whatever
 * the pattern is: it is made by a model, and regular expressions would backtrack.
 */
export type PathMatcher = (path: string) => boolean;

/** Undefined for a pattern that is too long or has too many alternatives. */
export function globMatcher(pattern: string): PathMatcher | undefined {
  if (pattern.length > PATTERN_CHARS_MAX) return undefined;
  const alternatives = expandBraces(pattern);
  if (!alternatives) return undefined;
  const patterns = alternatives.map((alternative) => {
    const segments = alternative.split("/").filter((segment) => segment !== "" && segment !== ".");
    return segments.map((segment) => (segment === ANY_DEPTH ? ANY_DEPTH : tokens(segment)));
  });
  return (path) => {
    const segments = path.split("/");
    return patterns.some((wanted) => matchSegments(wanted, segments));
  };
}

/** `a{b,c{d,e}}` as `ab`, `acd`, `ace`. A brace without a partner or without a comma is itself. */
function expandBraces(pattern: string): string[] | undefined {
  const done: string[] = [];
  const todo = [pattern];
  while (todo.length > 0) {
    const next = todo.pop() ?? "";
    const group = firstGroup(next);
    if (!group) done.push(next);
    else todo.push(...group.options.map((option) => group.before + option + group.after).reverse());
    if (done.length + todo.length > ALTERNATIVES_MAX) return undefined;
  }
  return done;
}

interface BraceGroup {
  readonly before: string;
  readonly options: readonly string[];
  readonly after: string;
}

function firstGroup(pattern: string): BraceGroup | undefined {
  for (let open = pattern.indexOf("{"); open >= 0; open = pattern.indexOf("{", open + 1)) {
    const group = groupAt(pattern, open);
    if (group) return group;
  }
  return undefined;
}

function groupAt(pattern: string, open: number): BraceGroup | undefined {
  const options: string[] = [];
  let depth = 0;
  let start = open + 1;
  for (let at = open; at < pattern.length; at += 1) {
    const character = pattern[at];
    if (character === "{") depth += 1;
    if (character === "}") depth -= 1;
    if ((character === "," && depth === 1) || depth === 0) {
      options.push(pattern.slice(start, at));
      start = at + 1;
    }
    if (depth > 0) continue;
    const before = pattern.slice(0, open);
    return options.length > 1 ? { before, options, after: pattern.slice(at + 1) } : undefined;
  }
  return undefined;
}

/** One character of a segment: any number of any, exactly one of some. */
type Token = { readonly type: "star" } | { readonly type: "one"; has(character: string): boolean };

function tokens(segment: string): Token[] {
  const found: Token[] = [];
  const characters = [...segment];
  for (let at = 0; at < characters.length; ) {
    const [token, length] = tokenAt(characters, at);
    // Several stars in a row are one.
    if (token.type !== "star" || found.at(-1)?.type !== "star") found.push(token);
    at += length;
  }
  return found;
}

/** The token and how many characters it takes. */
function tokenAt(characters: readonly string[], at: number): [Token, number] {
  const character = characters[at] ?? "";
  if (character === "*") return [{ type: "star" }, 1];
  if (character === "?") return [{ type: "one", has: () => true }, 1];
  const close = character === "[" ? closingBracket(characters, at) : -1;
  if (close > 0) return [characterClass(characters.slice(at + 1, close)), close - at + 1];
  const isEscape = character === "\\" && at + 1 < characters.length;
  const wanted = isEscape ? characters[at + 1] : character;
  return [{ type: "one", has: (given) => given === wanted }, isEscape ? 2 : 1];
}

/** The index of the bracket that ends the class; a bracket that comes first belongs to it. */
function closingBracket(characters: readonly string[], open: number): number {
  const isNegated = characters[open + 1] === "!" || characters[open + 1] === "^";
  return characters.indexOf("]", open + (isNegated ? 3 : 2));
}

function characterClass(content: readonly string[]): Token {
  const isNegated = content[0] === "!" || content[0] === "^";
  const members = isNegated ? content.slice(1) : content;
  const ranges: [string, string][] = [];
  for (let at = 0; at < members.length; at += 1) {
    const from = members[at] ?? "";
    const to = members[at + 1] === "-" ? members[at + 2] : undefined;
    ranges.push([from, to ?? from]);
    if (to !== undefined) at += 2;
  }
  const isMember = (given: string) => ranges.some(([from, to]) => given >= from && given <= to);
  return { type: "one", has: (given) => isMember(given) !== isNegated };
}

type SegmentPattern = typeof ANY_DEPTH | readonly Token[];

/** `**` stands for any number of segments. Sets of positions instead of backtracking. */
function matchSegments(wanted: readonly SegmentPattern[], segments: readonly string[]): boolean {
  let positions: readonly number[] = [0];
  for (const pattern of wanted) {
    positions =
      pattern === ANY_DEPTH ? from(positions, segments) : after(positions, pattern, segments);
  }
  return positions.includes(segments.length);
}

/** From the first position on, all. Positions are in order. */
function from(positions: readonly number[], segments: readonly string[]): number[] {
  const [first] = positions;
  if (first === undefined) return [];
  return Array.from({ length: segments.length - first + 1 }, (_, index) => first + index);
}

function after(
  positions: readonly number[],
  pattern: readonly Token[],
  segments: readonly string[],
): number[] {
  return positions
    .filter((position) => position < segments.length)
    .filter((position) => matchTokens(pattern, segments[position] ?? ""))
    .map((position) => position + 1);
}

/** The usual greedy walk: on failure only the last star is given one character more. */
function matchTokens(wanted: readonly Token[], segment: string): boolean {
  const characters = [...segment];
  let at = 0;
  let token = 0;
  let star = -1;
  let starAt = 0;
  while (at < characters.length) {
    const next = wanted[token];
    if (next?.type === "one" && next.has(characters[at] ?? "")) {
      at += 1;
      token += 1;
    } else if (next?.type === "star") {
      star = token;
      starAt = at;
      token += 1;
    } else if (star >= 0) {
      starAt += 1;
      at = starAt;
      token = star + 1;
    } else {
      return false;
    }
  }
  while (wanted[token]?.type === "star") token += 1;
  return token === wanted.length;
}
