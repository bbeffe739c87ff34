/** Characters of a pattern that are looked for; what comes after them is compared once they were found. */
const HEAD_BYTES_MAX = 24;
/** So much of a secret is the beginning of many, such as `ghp_`. */
const FAINT_BYTES_MAX = 6;

/**
 * Finds many patterns in one pass over bytes, whatever their number (Aho and Corasick), so that it costs as much
 * for a hundred secrets as for one. A state is the longest end of what was read with which a pattern begins.
 */
export class PatternAutomaton {
  readonly patterns: readonly Buffer[];
  /** By byte; 0 for those in no pattern. Few columns keep the table small enough for a processor's cache. */
  readonly columnOf = new Uint8Array(256);
  /** By `state + column`: the next state, or its complement where the heads of patterns end. */
  readonly next: Int32Array;
  /** Bytes that every pattern begins with at least. */
  readonly window: number;
  /**
   * By the last two bytes of such a window, as a number: how many bytes from its first on begin no pattern (Wu and
   * Manber). Most of what is read is passed over without being looked at.
   */
  readonly skips: Uint8Array;
  readonly #columns: number;
  readonly #depths: number[] = [0];
  /** Patterns whose heads end in a state, of which some may be shorter than its depth. */
  readonly #found: number[][] = [[]];
  /** Length of the shortest pattern that goes on from a state. */
  readonly #shortest: number[] = [Number.POSITIVE_INFINITY];

  constructor(patterns: readonly Buffer[]) {
    this.patterns = patterns;
    const heads = patterns.map((pattern) => pattern.subarray(0, HEAD_BYTES_MAX));
    let columns = 1;
    for (const byte of new Set(heads.flatMap((head) => [...head]))) {
      this.columnOf[byte] = columns;
      columns += 1;
    }
    this.window = Math.min(HEAD_BYTES_MAX, ...heads.map(({ length }) => length));
    this.skips = skipsOf(heads, this.window);
    this.#columns = columns;
    const children = this.#grow(heads);
    this.next = this.#link(children);
  }

  /** Bytes at the end of what was read that may be the beginning of a pattern. */
  depth(state: number): number {
    return this.#depths[state / this.#columns] ?? 0;
  }

  /** Whether they are so few that they say little of it. */
  isFaint(state: number): boolean {
    const shortest = this.#shortest[state / this.#columns] ?? 0;
    const depth = this.depth(state);
    return depth <= FAINT_BYTES_MAX && depth * 2 <= shortest;
  }

  /** Numbers of the patterns whose heads end here. */
  found(state: number): readonly number[] {
    return this.#found[state / this.#columns] ?? [];
  }

  headLength(pattern: number): number {
    return Math.min(this.patterns[pattern]?.length ?? 0, HEAD_BYTES_MAX);
  }

  /** The tree of the heads: for each node its children by column. */
  #grow(heads: readonly Buffer[]): Map<number, number>[] {
    const children: Map<number, number>[] = [new Map()];
    for (const [pattern, head] of heads.entries()) {
      const length = this.patterns[pattern]?.length ?? 0;
      let node = 0;
      for (const byte of head) {
        const column = this.columnOf[byte] ?? 0;
        let child = children[node]?.get(column);
        if (child === undefined) {
          child = children.length;
          children.push(new Map());
          children[node]?.set(column, child);
          this.#depths.push((this.#depths[node] ?? 0) + 1);
          this.#found.push([]);
          this.#shortest.push(Number.POSITIVE_INFINITY);
        }
        node = child;
        this.#shortest[node] = Math.min(this.#shortest[node] ?? length, length);
      }
      this.#found[node]?.push(pattern);
    }
    return children;
  }

  /** Breadth first, so that where a node falls back to is complete before the node is. */
  #link(children: readonly Map<number, number>[]): Int32Array {
    const columns = this.#columns;
    const table = new Int32Array(children.length * columns);
    const queue = [0];
    const fallback = new Int32Array(children.length);
    for (const node of queue) {
      const back = fallback[node] ?? 0;
      if (node !== 0) {
        this.#found[node]?.push(...(this.#found[back] ?? []));
        table.copyWithin(node * columns, back * columns, (back + 1) * columns);
      }
      for (const [column, child] of children[node] ?? []) {
        fallback[child] = node === 0 ? 0 : (table[back * columns + column] ?? 0);
        table[node * columns + column] = child;
        queue.push(child);
      }
    }
    return table.map((node) => {
      const state = node * columns;
      return (this.#found[node]?.length ?? 0) > 0 ? ~state : state;
    });
  }
}

function skipsOf(heads: readonly Buffer[], window: number): Uint8Array {
  const skips = new Uint8Array(256 * 256).fill(window - 1);
  for (const head of heads) {
    for (let at = 1; at < window; at++) {
      const pair = head.readUInt16BE(at - 1);
      skips[pair] = Math.min(skips[pair] ?? 0, window - 1 - at);
    }
  }
  return skips;
}
