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
/** Lines of commands and files; what is said or printed is shown longer. */
const COMMAND_LINES_MAX = 16;
const LINES_MAX = 40;
const COLUMNS_MAX = 160;
/** Where what is said is broken into lines. */
const TEXT_COLUMNS = 92;
const PRINTED: readonly Voice[] = ["runs", "result"];

/** What happened, line by line, with the time since the start. In a terminal in colour. */
export class Transcript {
  readonly #out: NodeJS.WritableStream;
  readonly #hasColours: boolean;
  readonly #start = Date.now();

  constructor(out: NodeJS.WritableStream & Partial<Pick<WriteStream, "hasColors">>) {
    this.#out = out;
    this.#hasColours = out.hasColors?.() ?? false;
  }

  /**
   * Writes a text of one or more lines. What is said is wrapped; of what was run or printed, long lines
   * and the end of many lines are cut. A line that `remark` knows something about has that after it.
   */
  say(voice: Voice, text: string, remark: (line: string) => string | undefined = nothing): void {
    const isPrinted = PRINTED.includes(voice);
    const lines = printable(text)
      .trimEnd()
      .split("\n")
      .flatMap(isPrinted ? cut : wrapped);
    const linesMax = voice === "runs" ? COMMAND_LINES_MAX : LINES_MAX;
    const shown = lines.length > linesMax + 1 ? lines.slice(0, linesMax) : lines;
    const label = this.#paint(COLOURS[voice], voice.padEnd(LABEL_WIDTH));
    const stamp = this.#paint(90, this.#elapsed());
    for (const [index, line] of shown.entries()) {
      const margin = index === 0 ? `${stamp}  ${label}` : " ".repeat(MARGIN_WIDTH - 2);
      const note = remark(line);
      const painted = voice === "result" ? this.#paint(90, line) : line;
      this.#write(`${margin}  ${painted}${note === undefined ? "" : this.#paint(32, `  ${note}`)}`);
    }
    if (shown.length < lines.length) {
      this.#write(`${" ".repeat(MARGIN_WIDTH)}… ${lines.length - shown.length} more lines`);
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

const MARGIN_WIDTH = "00:00.0".length + 2 + LABEL_WIDTH + 2;

function nothing(): undefined {
  return undefined;
}

function cut(line: string): string {
  return line.length > COLUMNS_MAX ? `${line.slice(0, COLUMNS_MAX)} …` : line;
}

function wrapped(line: string): string[] {
  const lines: string[] = [""];
  for (const word of line.split(" ")) {
    const last = lines.length - 1;
    const longer = lines[last] === "" ? word : `${lines[last]} ${word}`;
    if (longer.length > TEXT_COLUMNS && lines[last] !== "") lines.push(word);
    else lines[last] = longer;
  }
  return lines;
}

/** A model's or a sandbox's text must not be able to steer the terminal. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, (character) =>
    "\n\t".includes(character) ? character : "·",
  );
}
