import { ancestorsOf } from "./path.ts";

/** Paths of memories, none of which is above or below another. */
export class PathSet {
  readonly #paths = new Set<string>();
  /** How many paths are below each folder. */
  readonly #folders = new Map<string, number>();

  constructor(paths: Iterable<string>) {
    for (const path of paths) this.add(path);
  }

  get size(): number {
    return this.#paths.size;
  }

  add(path: string): void {
    if (this.#paths.has(path)) return;
    this.#paths.add(path);
    this.#count(path, 1);
  }

  delete(path: string): void {
    if (this.#paths.delete(path)) this.#count(path, -1);
  }

  /** What keeps the path from being added: itself, one above it, or the path where others are below it. */
  inTheWay(path: string): string | undefined {
    if (this.#paths.has(path) || this.#folders.has(path)) return path;
    return ancestorsOf(path).find((above) => this.#paths.has(above));
  }

  #count(path: string, by: number): void {
    for (const folder of ancestorsOf(path)) {
      const count = (this.#folders.get(folder) ?? 0) + by;
      if (count === 0) this.#folders.delete(folder);
      else this.#folders.set(folder, count);
    }
  }
}
