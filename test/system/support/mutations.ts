/** A pseudo-random source that gives the same numbers for the same seed (mulberry32). */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  pick<T>(list: readonly [T, ...T[]]): T {
    return list[Math.floor(this.next() * list.length)] ?? list[0];
  }
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const LONG = "x".repeat(300_000);
const DEEP = Array.from({ length: 500 }).reduce<Json>((inner) => [inner], null);

/** Values that parsers, databases and file systems have stumbled over. */
const NASTY: readonly [Json, ...Json[]] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  Number.MAX_SAFE_INTEGER + 1,
  "",
  " ",
  "\0",
  "a\0b",
  "\ud800",
  "../../etc/passwd",
  "'; drop table sessions; --",
  "__proto__",
  "constructor",
  "2026-13-45T99:99:99Z",
  LONG,
  [],
  {},
  [null],
  [[], {}, "", 0],
  DEEP,
  { type: "text" },
  { type: "__proto__" },
  { id: null },
  Array.from({ length: 2_000 }, () => "x"),
];

/** The value with one thing changed somewhere in it. */
export function mutated(value: Json, dice: Dice): Json {
  if (typeof value !== "object" || value === null) return dice.pick(NASTY);
  const keys = Object.keys(value);
  const [first, ...rest] = keys;
  if (first === undefined || dice.next() < 0.1) return dice.pick(NASTY);
  const key = dice.pick([first, ...rest]);
  const copy = structuredClone(value);
  const inner = Array.isArray(copy) ? (copy[Number(key)] ?? null) : (copy[key] ?? null);
  if (typeof inner === "object" && inner !== null && dice.next() < 0.6) {
    return replaced(copy, key, mutated(inner, dice));
  }
  return dice.pick([
    () => replaced(copy, key, dice.pick(NASTY)),
    () => replaced(copy, key, dice.pick(NASTY)),
    () => replaced(copy, `${key}${dice.pick(["", "s", "_", "\0"])}x`, inner),
    () => without(copy, key),
    () =>
      Array.isArray(copy) ? [...copy, ...copy] : { ...copy, [dice.pick(["x", "id", "type"])]: 1 },
  ])();
}

/** The text of the value, in one case in five damaged as text. */
export function serialized(value: Json, dice: Dice): string | Uint8Array {
  const text = JSON.stringify(value) ?? "null";
  if (dice.next() < 0.8) return text;
  const at = Math.floor(dice.next() * text.length);
  return dice.pick<() => string | Uint8Array>([
    () => text.slice(0, at),
    () =>
      `${text.slice(0, at)}${dice.pick(["\\", "{", "\u0000", "\\ud800", "\ufeff"])}${text.slice(at)}`,
    () => Buffer.concat([Buffer.from(text.slice(0, at)), Buffer.from([0xc3, 0x28, 0xff])]),
    () => text + text,
    () => "",
  ])();
}

/** The address with an odd id or an odd query. */
export function mutatedPath(path: string, dice: Dice): string {
  const segment = dice.pick(["%00", "%ff", "..%2f", "%2e%2e", "%20", "💣", "a".repeat(3_000), "%"]);
  const query = dice.pick([
    "limit=-1",
    "limit=99999999999999999999",
    "limit=",
    "page=%00",
    "page=eyJhIjoxfQ",
    "order=",
    "types[]=x",
    "created_at[gte]=%ff",
    "after=%00",
    "event_deltas[]=x",
    "ids[]=a&ids[]=b",
    "%00=1",
    "__proto__=1",
    "&&&==",
  ]);
  return dice.pick([
    () => path,
    () => `${path}?${query}`,
    () => path.replace(/[^/]+$/, encodeURI(segment).replaceAll("%25", "%")),
    () =>
      path.replace(
        /(sesn|agent|env|file|sthr)_[^/]+/,
        `$1_${encodeURI(segment).replaceAll("%25", "%")}`,
      ),
  ])();
}

function replaced(value: Json[] | { [key: string]: Json }, key: string, by: Json): Json {
  if (Array.isArray(value)) return value.map((item, index) => (String(index) === key ? by : item));
  return Object.fromEntries([...Object.entries(value), [key, by]]);
}

function without(value: Json[] | { [key: string]: Json }, key: string): Json {
  if (Array.isArray(value)) return value.filter((_, index) => String(index) !== key);
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));
}
