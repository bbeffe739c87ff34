/** Reads JSON that this store wrote; its shape is that of the value it was given then. */
export function fromJson<T>(text: string): T {
  const value: T = JSON.parse(text);
  return value;
}

/** JSON escapes NUL and lone surrogates, so that both engines keep the text as it is. */
export function toJson(value: unknown): string {
  return JSON.stringify(value);
}
