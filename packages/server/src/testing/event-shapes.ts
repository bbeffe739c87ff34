import { isDeepStrictEqual } from "node:util";
import { StreamEvent } from "@drover/api";

/**
 * What is not exactly as the contract's schema of its type has it: a field that is missing, of another
 * type or one too many. Returns a sentence for each such event.
 */
export function misshapen(shown: readonly unknown[]): readonly string[] {
  return shown.flatMap((event) => {
    const { success, data, error } = StreamEvent.safeParse(event);
    if (success && isDeepStrictEqual(data, event)) return [];
    const problem = success ? "has fields that no schema knows" : error.message;
    return [`${JSON.stringify(event)}: ${problem}`];
  });
}
