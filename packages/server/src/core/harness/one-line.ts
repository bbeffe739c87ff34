/** Control characters, line separators, and what turns the direction of text. */
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu;

/**
 * Text of somebody who is not trusted as part of one line: without breaks, marks that hide it, or
 * halves of characters, and of at most `lengthMax` UTF-16 units.
 */
export function oneLine(text: string, lengthMax: number): string {
  const line = text.toWellFormed().replaceAll(UNSAFE, " ").replaceAll(/\s+/g, " ").trim();
  if (line.length <= lengthMax) return line;
  const cut = line.slice(0, lengthMax - 1);
  // Not half of a pair, which would read as a broken character.
  return `${/[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}
