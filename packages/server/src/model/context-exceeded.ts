/** Messages of the servers that are known to us; the codes are not the same anywhere. */
const SAYINGS = [
  /prompt is too long/i,
  /exceeds? (the )?(maximum )?(allowed )?(context|input)/i,
  /(maximum|available|model'?s?) context (length|size|window)/i,
  /context[_ -](length|size|window|limit)[_ -]?(was |is |has been )?(exceeded|error|limit)/i,
  /exceed_context_size/i,
  /(too many|more) tokens? than|input (is )?too (long|large)|too many (input |prompt )?tokens/i,
];

/** True if an error means that the conversation does not fit into the model's context. */
export function saysContextExceeded(status: number | undefined, message: string): boolean {
  if (status !== undefined && ![400, 413, 422, 500].includes(status)) return false;
  return SAYINGS.some((saying) => saying.test(message));
}

/** A smaller number is not the size of a context in tokens, but the 128 of 128k. */
const WINDOW_MIN = 1_000;

/** Where these messages tell how large the context is. */
const WINDOWS = [
  /tokens > (\d+) maximum/,
  /exceed context limit: \d+ \+ \d+ > (\d+)/,
  /maximum context length is (\d+)/i,
  /context (?:size|length|window)[^\d]{0,20}(\d+)/i,
];

/**
 * Undefined unless an error means that the conversation does not fit; with the tokens of the model's
 * window where it tells them.
 */
export function tooLongPrompt(
  status: number | undefined,
  message: string,
): { readonly windowTokens?: number } | undefined {
  if (!saysContextExceeded(status, message) && status !== 413) return undefined;
  const told = WINDOWS.map((pattern) => Number(pattern.exec(message)?.[1]));
  const windowTokens = told.find((tokens) => {
    return Number.isSafeInteger(tokens) && tokens >= WINDOW_MIN;
  });
  return windowTokens === undefined ? {} : { windowTokens };
}
