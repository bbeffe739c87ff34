/**
 * The same value with NUL bytes and lone surrogates in its strings replaced by U+FFFD, which no API
 * and no database takes. Returns the value itself where there is nothing to replace.
 */
export function tamed<T>(value: T): T {
  return tamedValue(value) as T;
}

function tamedValue(value: unknown): unknown {
  if (typeof value === "string") return tamedText(value);
  if (Array.isArray(value)) {
    const items = value.map(tamedValue);
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  const changed = entries.map(([key, item]) => [tamedText(key), tamedValue(item)] as const);
  const isSame = changed.every(([key, item], index) => {
    return key === entries[index]?.[0] && item === entries[index]?.[1];
  });
  return isSame ? value : Object.fromEntries(changed);
}

function tamedText(text: string): string {
  const wellFormed = text.isWellFormed() ? text : text.toWellFormed();
  return wellFormed.includes("\0") ? wellFormed.replaceAll("\0", "\uFFFD") : wellFormed;
}
