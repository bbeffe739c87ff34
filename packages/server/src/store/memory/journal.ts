/** How to take back what was done since a mark. */
export class Journal {
  readonly #undo: (() => void)[] = [];

  record(undo: () => void): void {
    this.#undo.push(undo);
  }

  get length(): number {
    return this.#undo.length;
  }

  /** Takes back everything after the first `length` steps, the newest first. */
  rollbackTo(length: number): void {
    while (this.#undo.length > length) this.#undo.pop()?.();
  }

  forget(): void {
    this.#undo.length = 0;
  }
}

/** Rows by key, each change of which can be taken back. Rows are replaced, never changed. */
export class Table<Row> {
  readonly #rows = new Map<string, Row>();
  readonly #journal: Journal;

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  get(...key: readonly (string | number)[]): Row | undefined {
    return this.#rows.get(JSON.stringify(key));
  }

  set(row: Row, ...key: readonly (string | number)[]): void {
    const at = JSON.stringify(key);
    const earlier = this.#rows.get(at);
    this.#journal.record(() => {
      if (earlier === undefined) this.#rows.delete(at);
      else this.#rows.set(at, earlier);
    });
    this.#rows.set(at, row);
  }

  /** As `set`; a key that is taken is a bug of the caller, as a broken primary key is in SQL. */
  insert(row: Row, ...key: readonly (string | number)[]): void {
    if (this.get(...key) !== undefined) throw new Error(`${key.join(" ")} is stored already`);
    this.set(row, ...key);
  }

  delete(...key: readonly (string | number)[]): void {
    const at = JSON.stringify(key);
    const earlier = this.#rows.get(at);
    if (earlier === undefined) return;
    this.#journal.record(() => this.#rows.set(at, earlier));
    this.#rows.delete(at);
  }

  filter(condition: (row: Row) => boolean): Row[] {
    return [...this.#rows.values()].filter(condition);
  }
}
