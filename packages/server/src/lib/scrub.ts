import { base64Forms } from "./secret-forms.ts";

const REDACTED = "[redacted]";
/** Characters in a row of a secret that give it away; what is shorter is a part of many words. */
const FRAGMENT_MIN = 8;
/** Shorter values of headers, such as a version, are no secrets, and parts of every sentence. */
const SECRET_MIN = 4;
/** Characters that are looked at at all, which takes some milliseconds; what is longer goes unread. */
const READ_MAX = 8 * 1024;

/** One character, however it is written: in JSON, in HTML or in a URL. */
const WRITTEN =
  /\\u[0-9a-f]{4}|\\["\\/]|&#x?[0-9a-f]{1,6};|&(?:amp|lt|gt|quot|apos);|%[0-9a-f]{2}|./gisu;
/** Each as it stands. */
const LITERAL = /./gsu;
/** What may stand between two parts of a secret that was wrapped or quoted. */
const BETWEEN = /[\s"'`\\\u200b]/;
/**
 * How a text is read: unescaped and without what stands between, and as it is, since the end of a secret and what
 * follows it may look like an escape, such as `%` before two digits, and much of a secret may be quotes.
 */
const READINGS: readonly Reading[] = [
  { character: WRITTEN, between: BETWEEN },
  { character: LITERAL, between: undefined },
];
const ENTITIES: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&apos;": "'",
};

/** What looks like a credential, whoever's it is. The groups stay. */
const LOOKS_SECRET: readonly RegExp[] = [
  /\b()(?:sk|pk|rk|xai|gsk|hf|ghp|gho|ghs|github_pat|glpat|AKIA|AIza|eyJ)[-_]?[\w.-]{12,}/g,
  /\b((?:Bearer|Basic|Token|Negotiate)\s+)[\w.~+/=-]{6,}/gi,
  /(\/\/)[^\s/@"'<>]{1,512}(?=@)/g,
  /([?&](?:[\w-]{0,20}(?:key|token|secret|signature|sig|password|code))=)[^\s&#"'<>]+/gi,
  /\b((?:proxy-)?authorization|(?:set-)?cookie|[\w-]{0,20}api[-_]?key|[\w-]{0,20}(?:auth|access|refresh|session)[-_]token|client[-_]secret|password)((?:<[^<>]{0,40}>|&quot;|[\s"'`\\]){0,6}(?:[:=]|<\/[a-z]{1,10}>)(?:<[^<>]{0,40}>|&quot;|[\s"'`\\]){0,6})(?:(?:Bearer|Basic|Token)\s+)?[^\s"'<>,;}&\\]+/gi,
];

/**
 * A function that takes the given secrets out of a text that came from outside, in whatever form:
 * whole or in parts of some length, wrapped, quoted, in base64, in hexadecimal, escaped for JSON, HTML
 * or a URL. So it does with everything else that looks like a credential. The text gets no longer than
 * `lengthMax`, and has neither NUL nor halves of surrogate pairs.
 */
export function scrubber(
  secrets: readonly string[],
  { lengthMax }: { readonly lengthMax: number },
): (text: string) => string {
  const long = secrets.filter((secret) => secret.length >= SECRET_MIN);
  const sought = READINGS.map((reading) => ({ reading, fragments: fragmentsOf(long, reading) }));
  return (text) => {
    const known = withoutFragments(text.slice(0, READ_MAX), sought);
    const clean = LOOKS_SECRET.reduce(
      (rest, pattern) =>
        rest.replace(pattern, (...match: unknown[]) => {
          const groups = match.slice(1).filter((part) => typeof part === "string");
          // The last of them is the whole text.
          return `${groups.slice(0, -1).join("")}${REDACTED}`;
        }),
      known,
    ).replaceAll(/(?:\[redacted\]\s*){2,}/g, REDACTED);
    const safe = clean.replaceAll("\0", "\uFFFD").toWellFormed();
    return safe.length > lengthMax ? `${safe.slice(0, lengthMax).toWellFormed()}…` : safe;
  };
}

/** Parts that are looked for, by their length. */
type Fragments = ReadonlyMap<number, ReadonlySet<string>>;

interface Reading {
  readonly character: RegExp;
  readonly between: RegExp | undefined;
}

interface Sought {
  readonly reading: Reading;
  readonly fragments: Fragments;
}

function fragmentsOf(secrets: readonly string[], reading: Reading): Fragments {
  const byLength = new Map<number, Set<string>>();
  for (const form of secrets.flatMap(formsOf)) {
    const plain = compact(form, reading).text;
    if (plain.length < SECRET_MIN) continue;
    const length = Math.min(FRAGMENT_MIN, plain.length);
    const parts = byLength.get(length) ?? new Set<string>();
    for (let at = 0; at + length <= plain.length; at++) parts.add(plain.slice(at, at + length));
    byLength.set(length, parts);
  }
  return byLength;
}

function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret, "utf8");
  return [secret, bytes.toString("hex"), ...base64Forms(bytes)].filter(
    ({ length }) => length >= SECRET_MIN,
  );
}

interface Compact {
  /** As it is compared: in small letters, and as its reading has it. */
  readonly text: string;
  /** For each of its characters, where it begins and ends in the original. */
  readonly places: readonly { readonly from: number; readonly to: number }[];
}

function compact(original: string, { character: pattern, between }: Reading): Compact {
  let text = "";
  const places: { from: number; to: number }[] = [];
  for (const match of original.matchAll(pattern)) {
    const character = unescaped(match[0]);
    if (between?.test(character) && match[0].length === 1) continue;
    for (const unit of comparable(character)) {
      text += unit;
      places.push({ from: match.index, to: match.index + match[0].length });
    }
  }
  return { text, places };
}

function unescaped(written: string): string {
  if (written.length === 1) return written;
  if (written.startsWith("\\u")) return String.fromCharCode(Number.parseInt(written.slice(2), 16));
  if (written.startsWith("\\")) return written.slice(1);
  if (written.startsWith("%")) return String.fromCharCode(Number.parseInt(written.slice(1), 16));
  if (!written.startsWith("&")) return written;
  const named = ENTITIES[written.toLowerCase()];
  if (named !== undefined) return named;
  const isHex = /^&#x/i.test(written);
  const code = Number.parseInt(written.slice(isHex ? 3 : 2), isHex ? 16 : 10);
  return Number.isNaN(code) || code > 0x10ffff ? written : String.fromCodePoint(code);
}

/** Base64 for URLs has two other characters than base64; both are one here. */
function comparable(character: string): string {
  const small = character.toLowerCase();
  if (small === "-") return "+";
  return small === "_" ? "/" : small;
}

function withoutFragments(original: string, sought: readonly Sought[]): string {
  const isSecret = new Uint8Array(original.length);
  for (const { reading, fragments } of sought) {
    if (fragments.size === 0) continue;
    const { text, places } = compact(original, reading);
    for (const [length, parts] of fragments) {
      for (let at = 0; at + length <= text.length; at++) {
        if (!parts.has(text.slice(at, at + length))) continue;
        isSecret.fill(1, places[at]?.from, places[at + length - 1]?.to);
      }
    }
  }
  let clean = "";
  let kept = 0;
  for (let at = isSecret.indexOf(1); at >= 0; at = isSecret.indexOf(1, kept)) {
    const end = isSecret.indexOf(0, at);
    clean += original.slice(kept, at) + REDACTED;
    kept = end < 0 ? original.length : end;
  }
  return clean + original.slice(kept);
}
