import type { WriteStream } from "node:tty";

/** Who or what a line of the transcript is about. */
export type Voice =
  | "server"
  | "model"
  | "files"
  | "session"
  | "you"
  | "agent"
  | "runs"
  | "result"
  | "kill -9"
  | "stream"
  | "proof"
  | "error";

const COLOURS: Readonly<Record<Voice, number>> = {
  server: 34,
  model: 34,
  files: 34,
  session: 34,
  you: 36,
  agent: 35,
  runs: 33,
  result: 90,
  "kill -9": 31,
  stream: 34,
  proof: 32,
  error: 31,
};

const LABEL_WIDTH = 8;
const LINES_MAX = 30;
const COLUMNS_MAX = 160;

/** What happened, line by line, with the time since the start. In a terminal in colour. */
export class Transcript {
  readonly #out: NodeJS.WritableStream;
  readonly #hasColours: boolean;
  readonly #start = Date.now();

  constructor(out: NodeJS.WritableStream & Partial<Pick<WriteStream, "hasColors">>) {
    this.#out = out;
    this.#hasColours = out.hasColors?.() ?? false;
  }

  /** Writes a text of one or more lines, of which at most some are shown. */
  say(voice: Voice, text: string): void {
    const lines = printable(text).trimEnd().split("\n");
    const shown = lines.length > LINES_MAX + 1 ? lines.slice(0, LINES_MAX) : lines;
    const label = this.#paint(COLOURS[voice], voice.padEnd(LABEL_WIDTH));
    const stamp = this.#paint(90, this.#elapsed());
    for (const [index, line] of shown.entries()) {
      const margin = index === 0 ? `${stamp}  ${label}` : " ".repeat(STAMP_WIDTH + 2 + LABEL_WIDTH);
      const cut = line.length > COLUMNS_MAX ? `${line.slice(0, COLUMNS_MAX)} …` : line;
      this.#write(`${margin}  ${voice === "result" ? this.#paint(90, cut) : cut}`);
    }
    if (shown.length < lines.length) {
      this.#write(
        `${" ".repeat(STAMP_WIDTH + 4 + LABEL_WIDTH)}… ${lines.length - shown.length} more`,
      );
    }
  }

  /** A heading and a text that is shown as it is. */
  section(title: string, text: string): void {
    const rule = "─".repeat(Math.max(3, 74 - title.length));
    this.#write(`\n${this.#paint(1, `── ${title} ${rule}`)}\n`);
    this.#write(printable(text).trimEnd());
  }

  #elapsed(): string {
    const tenths = Math.floor((Date.now() - this.#start) / 100);
    const minutes = Math.floor(tenths / 600);
    const seconds = ((tenths % 600) / 10).toFixed(1).padStart(4, "0");
    return `${String(minutes).padStart(2, "0")}:${seconds}`;
  }

  #paint(colour: number, text: string): string {
    return this.#hasColours ? `\u001b[${colour}m${text}\u001b[0m` : text;
  }

  #write(line: string): void {
    this.#out.write(`${line}\n`);
  }
}

const STAMP_WIDTH = "00:00.0".length;

/** A model's or a sandbox's text must not be able to steer the terminal. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, (character) =>
    "\n\t".includes(character) ? character : "·",
  );
}
