import type { ResultBlock } from "@drover/api";
import type { HandCall } from "../../core/ports/hands.ts";
import type { WebSearch } from "../../core/ports/web-search.ts";
import { Places } from "./places.ts";
import { WebError } from "./web-error.ts";
import { type FetchParts, webFetch } from "./web-fetch.ts";
import { webSearch } from "./web-search.ts";

export interface WebToolsOptions extends FetchParts {
  /** Absent if none is configured. */
  readonly search?: WebSearch;
}

/** Calls of each tool that are carried out at the same time: what they hold in memory is bounded so. */
const AT_ONCE_MAX = 32;

type WebCall = Pick<HandCall, "name" | "input" | "settings">;
type WebAnswer = { readonly content: readonly ResultBlock[]; readonly is_error: boolean };
export type RunWebTool = (call: WebCall, signal: AbortSignal) => Promise<WebAnswer>;

/**
 * The tools that need no sandbox, by their names. What the web does wrong is a result with `is_error`.
 * A call without settings is refused: those are what limits it. Aborting the signal ends a call soon,
 * with whatever answer.
 */
export function webTools(options: WebToolsOptions): ReadonlyMap<string, RunWebTool> {
  const [fetches, searches] = [new Places(AT_ONCE_MAX), new Places(AT_ONCE_MAX)];
  return new Map([
    [
      "web_fetch",
      (call, signal) =>
        answer(
          call,
          fetches.take(() => fetched(call, options, signal)),
        ),
    ],
    [
      "web_search",
      (call, signal) =>
        answer(
          call,
          searches.take(() => found(call, options, signal)),
        ),
    ],
  ] satisfies readonly (readonly [string, RunWebTool])[]);
}

async function fetched(
  { input, settings }: WebCall,
  options: WebToolsOptions,
  signal: AbortSignal,
): Promise<readonly ResultBlock[]> {
  if (settings?.type !== "web_fetch") throw withoutSettings();
  return await webFetch(input, settings, options, signal);
}

async function found(
  { input, settings }: WebCall,
  { search }: WebToolsOptions,
  signal: AbortSignal,
): Promise<readonly ResultBlock[]> {
  if (settings?.type !== "web_search") throw withoutSettings();
  return await webSearch(input, settings, search, signal);
}

async function answer(
  { name }: WebCall,
  content: Promise<readonly ResultBlock[]>,
): Promise<WebAnswer> {
  try {
    return { content: await content, is_error: false };
  } catch (error) {
    if (!(error instanceof WebError)) throw error;
    const text = `${name}: ${error.code}: ${error.message}.`;
    return { content: [{ type: "text", text }], is_error: true };
  }
}

function withoutSettings(): WebError {
  return new WebError("unavailable", "the agent's settings of the tool are not known");
}
