import { Script } from "node:vm";

/** Both values come in as data; the code is this one line whatever they are. */
const EXEC = new Script(
  'JSON.stringify(Array.from(new RegExp(pattern, "m").exec(text) ?? [], (group) => group ?? null))',
);

/**
 * Matches a regular expression that somebody else wrote, for at most `timeoutMs`: some take longer
 * than the age of the world, and would stop every session with theirs. Gives the whole match and its
 * groups, or nothing. Throws if the pattern is not one, or when the time is over.
 */
export function boundedMatch(
  pattern: string,
  text: string,
  timeoutMs: number,
): readonly (string | null)[] {
  const json: unknown = EXEC.runInNewContext({ pattern, text }, { timeout: timeoutMs });
  return JSON.parse(String(json));
}
