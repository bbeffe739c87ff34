import { Random } from "@drover/testing";

/** By its path, because the program offers no such thing to others. */
const SOURCE = "../../packages/server/src/lib/fail-point.ts";
const { FAIL_POINTS }: { FAIL_POINTS: readonly string[] } = await import(SOURCE);

export type Target = "serve" | "hands";

/** One death of one process: at the nth pass of a point, or after a time. */
export interface Death {
  readonly seed: number;
  readonly target: Target;
  readonly point: { readonly name: string; readonly nth: number } | undefined;
  /** Milliseconds after its start, for a death without a point; or the longest wait for one at a point. */
  readonly afterMs: number;
}

/** Deaths of one target after which their kinds come in the same order again. */
const PERIOD = 60;
/** So many servers in a row die at the same early point: turns that are given up for it. */
const STREAK = { from: 12, length: 7, point: "serve.load.after" };
/** Of four other deaths one comes at any moment; the others visit the points in turn. */
const EVERY = 4;
const RANDOM_MS_MAX = 1_200;
const PATIENCE_MS = 3_500;

/** How often a life of a second or so passes a point for certain, where that is more than twice. */
const PASSES: readonly (readonly [RegExp, number])[] = [
  [/^serve\.(append|accept)\./, 12],
  [/^serve\.(claim|load|model|locate|execute|settle)\./, 5],
  [/^client\.call\./, 5],
  [/^hands\.(call|reply|settle)\./, 6],
  [/^hands\.reply\./, 20],
  [/^hands\.provision\./, 3],
  [/^serve\.judge\./, 1],
  [/^hands\.skill\./, 1],
  [/\.start\.|\.spawn\.|\.dispose\./, 1],
];

/**
 * The sessions of the campaign have no memory stores (`test/system/memory.test.ts` dies at these) and no
 * packages, and nobody builds a base in it: `hands/packages` and `hands/base` have tests that do. No files
 * go from this machine, where they are counted: `hands/checkpoints` dies at that. Spare sandboxes are off, as
 * by default, for they make points be passed at other times: `hands/sandbox/local` dies at theirs. No agent has MCP
 * servers: `run/mcp.contract.test.ts` dies where they are listed.
 */
const PASSED = FAIL_POINTS.filter(
  (name) =>
    !/^(?:packages|base|hands\.(?:memory|evict|restore|warm|exchange)|serve\.(?:question|list))\./.test(
      name,
    ),
);

export const POINTS: Readonly<Record<Target, readonly string[]>> = {
  serve: PASSED.filter((name) => targetOf(name) === "serve"),
  hands: PASSED.filter((name) => targetOf(name) === "hands"),
};

/** The points of the client of the hands are passed by the server. */
export function targetOf(name: string): Target {
  return name.startsWith("hands.") ? "hands" : "serve";
}

/** Odd seeds kill the server, even ones the hands. */
export function deathOf(seed: number): Death {
  const random = new Random(seed);
  const target = seed % 2 === 1 ? "serve" : "hands";
  const turn = Math.floor((seed - 1) / 2);
  const kind = kindOf(target, turn);
  if (kind === "time")
    return { seed, target, point: undefined, afterMs: random.int(0, RANDOM_MS_MAX) };
  if (kind === "streak") {
    return { seed, target, point: { name: STREAK.point, nth: 1 }, afterMs: PATIENCE_MS };
  }
  const place = pointsBefore(target, turn);
  const points = POINTS[target];
  const round = Math.floor(place / points.length);
  const name = new Random(round).shuffled(points)[place % points.length];
  if (name === undefined) throw new Error(`there is no point for seed ${seed}`);
  return { seed, target, point: { name, nth: nthOf(name, random) }, afterMs: PATIENCE_MS };
}

/** A death at the first pass of a point, for one that has been missed so far. */
export function makeUp(name: string): Death {
  return { seed: 0, target: targetOf(name), point: { name, nth: 1 }, afterMs: 3 * PATIENCE_MS };
}

export function pointSetting({ point }: Death): string {
  return point === undefined ? "" : `${point.name}:${point.nth}`;
}

function kindOf(target: Target, turn: number): "point" | "time" | "streak" {
  const place = (turn % PERIOD) - STREAK.from;
  if (target === "serve" && place >= 0 && place < STREAK.length) return "streak";
  return turn % EVERY === EVERY - 1 ? "time" : "point";
}

/** How many deaths of the target have visited a point before, so that none is left out. */
function pointsBefore(target: Target, turn: number): number {
  const count = (turns: number) =>
    Array.from({ length: turns }, (_, one) => kindOf(target, one)).filter(
      (kind) => kind === "point",
    ).length;
  return Math.floor(turn / PERIOD) * count(PERIOD) + count(turn % PERIOD);
}

function nthOf(name: string, random: Random): number {
  const most = PASSES.find(([pattern]) => pattern.test(name))?.[1] ?? 2;
  return random.int(1, most);
}
