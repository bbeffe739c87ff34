/** White space to the Messages API, which is written in Python, and not to JavaScript. */
const ALSO_BLANK = "\u001c\u001d\u001e\u001f\u0085";

/** True for text without a visible character: the Messages API refuses it, in every later turn too. */
export function isBlankText(text: string): boolean {
  for (const character of text) {
    if (character.trim() !== "" && !ALSO_BLANK.includes(character)) return false;
  }
  return true;
}
