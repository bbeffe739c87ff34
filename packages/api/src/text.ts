import { z } from "zod";

/** Levels of arrays and objects in a request: deeper values overflow the stack of whoever walks them. */
const depthMax = 64;
const problemNameMax = 64;

const unsafeCharacter = /\0|\p{Surrogate}/u;

/** True unless the text holds a NUL or half of a surrogate pair, which databases and programs refuse. */
export function isSafeText(text: string): boolean {
  return !unsafeCharacter.test(text);
}

/** A string of at most `max` UTF-16 units without NUL and without lone surrogates. */
export function text(max: number): z.ZodString {
  return z.string().max(max).refine(isSafeText, "must not contain NUL or unpaired surrogates");
}

/** As `text`, and not empty. */
export function nonEmptyText(max: number): z.ZodString {
  return text(max).min(1);
}

/**
 * What makes a decoded JSON value unfit to be stored or walked, as a sentence that names the place;
 * undefined if nothing does. Looks at every string and every key, also inside parts whose schema is
 * open, and never recurses.
 */
export function problemInJson(value: unknown): string | undefined {
  const rest: { at: string; value: unknown; depth: number }[] = [{ at: "", value, depth: 0 }];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const problem = problemInNode(next.value, next.at, next.depth);
    if (problem !== undefined) return problem;
    for (const [key, child] of childrenOf(next.value)) {
      rest.push({ at: placeOf(next.at, key), value: child, depth: next.depth + 1 });
    }
  }
  return undefined;
}

function problemInNode(value: unknown, at: string, depth: number): string | undefined {
  const place = at === "" ? "the value" : at;
  if (depth > depthMax) return `${place}: nested deeper than ${depthMax} levels`;
  if (typeof value === "string" && !isSafeText(value)) {
    return `${place}: must not contain NUL or unpaired surrogates`;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  for (const key of Object.keys(value)) {
    if (key === "__proto__" || !isSafeText(key)) return `${place}: a field has an unusable name`;
  }
  return undefined;
}

function childrenOf(value: unknown): [string, unknown][] {
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}

/** Only the end of a long path is kept, so that what a client sends bounds what it reads. */
function placeOf(parent: string, key: string): string {
  const place = parent === "" ? key : `${parent}.${key}`;
  return place.length <= problemNameMax * 2 ? place : `…${place.slice(-problemNameMax * 2)}`;
}
