import type { ResultBlock, TextBlock } from "@drover/api";

/** Characters of text that one result has in a conversation, as for what a sandbox prints. */
const TEXT_CHARS_MAX = 100_000;
/** Of each end of a longer one. */
const END_CHARS = 20_000;

/**
 * A client's result as the model is shown it: of a text that is too long its two ends. What it sent stays
 * in the log as it was. The same blocks in the same places; images and documents are not looked at.
 */
export function boundedResult(content: readonly ResultBlock[]): readonly ResultBlock[] {
  let room = TEXT_CHARS_MAX;
  const bounded = (block: TextBlock): TextBlock => {
    const { length } = block.text;
    if (length <= room) {
      room -= length;
      return block;
    }
    const end = Math.min(END_CHARS, Math.floor(room / 2));
    room -= 2 * end;
    return { ...block, text: twoEnds(block.text, end) };
  };
  return content.map((block) => {
    if (block.type === "text") return bounded(block);
    if (block.type !== "search_result") return block;
    return { ...block, content: block.content.map(bounded) };
  });
}

function twoEnds(text: string, length: number): string {
  const note = `[result truncated: ${text.length} characters]`;
  if (length === 0) return note;
  const [head, tail] = [text.slice(0, length), text.slice(-length)];
  return [head.toWellFormed(), note, tail.toWellFormed()].join("\n\n");
}
