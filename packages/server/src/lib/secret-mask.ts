import { PatternAutomaton } from "./pattern-automaton.ts";
import { secretForms } from "./secret-forms.ts";

const STAR = 0x2a;
const NOTHING = Buffer.alloc(0);

/** Takes secrets out of what came from outside, with a `*` for each of their bytes, so that no length changes. */
export class SecretMask {
  readonly #automaton: PatternAutomaton;

  constructor(secrets: readonly string[]) {
    const forms = new Set(secrets.flatMap(secretForms));
    this.#automaton = new PatternAutomaton([...forms].map((form) => Buffer.from(form, "utf8")));
  }

  /** True where there is nothing to be found. */
  get isEmpty(): boolean {
    return this.#automaton.patterns.length === 0;
  }

  stream(): MaskStream {
    return new MaskStream(this.#automaton);
  }

  bytes(whole: Buffer): Buffer {
    if (this.isEmpty) return whole;
    const stream = this.stream();
    const first = stream.push(whole);
    const last = stream.end();
    return last.length === 0 ? first : Buffer.concat([first, last]);
  }

  text(whole: string): string {
    if (this.isEmpty || whole === "") return whole;
    const bytes = Buffer.from(whole, "utf8");
    const masked = this.bytes(bytes);
    return masked.equals(bytes) ? whole : masked.toString("utf8");
  }
}

interface Range {
  readonly from: number;
  readonly to: number;
}

/** A pattern whose head was found, and whose end has not come yet. */
interface Candidate {
  readonly pattern: Buffer;
  /** Relative to what is held; negative for one whose first bytes were let go of. */
  readonly from: number;
}

/**
 * The same for a text that comes in pieces, cut anywhere. What may be the beginning of a secret is held back until
 * it is known. Pieces that are given are not changed.
 */
export class MaskStream {
  readonly #automaton: PatternAutomaton;
  #state = 0;
  #held: Buffer = NOTHING;
  #hits: Range[] = [];
  #candidates: Candidate[] = [];

  constructor(automaton: PatternAutomaton) {
    this.#automaton = automaton;
  }

  push(piece: Uint8Array): Buffer {
    const read = this.#held.length;
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    if (this.#automaton.patterns.length === 0) return bytes;
    const data = read === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    this.#scan(data, read);
    this.#decide(data);
    const pending = this.#candidates.map(({ from }) => Math.max(0, from));
    const begun = Math.max(0, data.length - this.#automaton.depth(this.#state));
    return this.#give(data, Math.min(begun, ...pending));
  }

  /**
   * What is held back, where that is so little of a secret that it may be passed on while nothing else comes. The
   * rest of it is still masked.
   */
  release(): Buffer {
    const isFaint = this.#candidates.length === 0 && this.#automaton.isFaint(this.#state);
    return isFaint ? this.#give(this.#held, this.#held.length) : NOTHING;
  }

  get isHolding(): boolean {
    return this.#held.length > 0;
  }

  /** There is no more: what was held back is no secret. */
  end(): Buffer {
    this.#candidates = [];
    this.#state = 0;
    return this.#give(this.#held, this.#held.length);
  }

  #scan(data: Buffer, from: number): void {
    const { columnOf, next } = this.#automaton;
    let state = this.#state;
    // Of all lines here these are run for the bytes of every download.
    for (let at = from; at < data.length; at++) {
      if (state === 0) at = this.#skip(data, at);
      state = next[state + (columnOf[data[at] as number] as number)] as number;
      if (state >= 0) continue;
      state = ~state;
      this.#note(state, at + 1);
    }
    this.#state = state;
  }

  /** The next place at which a pattern may begin; near the end of the data every place is one. */
  #skip(data: Buffer, from: number): number {
    const { skips, window } = this.#automaton;
    const last = data.length - window;
    let at = from;
    while (at <= last) {
      const end = at + window;
      const skip = skips[((data[end - 2] as number) << 8) | (data[end - 1] as number)] as number;
      if (skip === 0) return at;
      at += skip;
    }
    return at;
  }

  #note(state: number, end: number): void {
    for (const number of this.#automaton.found(state)) {
      const pattern = this.#automaton.patterns[number] ?? NOTHING;
      const head = this.#automaton.headLength(number);
      const from = end - head;
      if (head === pattern.length) this.#hits.push({ from, to: end });
      else this.#candidates.push({ pattern, from });
    }
  }

  #decide(data: Buffer): void {
    if (this.#candidates.length === 0) return;
    this.#candidates = this.#candidates.filter(({ pattern, from }) => {
      const begin = Math.max(0, from);
      const end = Math.min(data.length, from + pattern.length);
      if (!data.subarray(begin, end).equals(pattern.subarray(begin - from, end - from)))
        return false;
      if (end < from + pattern.length) return true;
      this.#hits.push({ from, to: end });
      return false;
    });
  }

  #give(data: Buffer, length: number): Buffer {
    const given = this.#masked(data.subarray(0, length));
    // A copy: what is held must not keep a large piece.
    this.#held = length === data.length ? NOTHING : Buffer.from(data.subarray(length));
    this.#hits = this.#hits
      .filter(({ to }) => to > length)
      .map(({ from, to }) => ({ from: from - length, to: to - length }));
    this.#candidates = this.#candidates.map(({ pattern, from }) => ({
      pattern,
      from: from - length,
    }));
    return given;
  }

  #masked(bytes: Buffer): Buffer {
    if (this.#hits.length === 0) return bytes;
    const masked = Buffer.from(bytes);
    for (const { from, to } of this.#hits) {
      masked.fill(STAR, Math.min(Math.max(0, from), masked.length), Math.min(to, masked.length));
    }
    return masked;
  }
}
