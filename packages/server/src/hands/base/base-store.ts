import { randomBytes } from "node:crypto";
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { failPoint } from "../../lib/fail-point.ts";
import { acquireFileLock } from "../../lib/file-lock.ts";
import { OperatorError } from "../../lib/operator-error.ts";
import { syncTree, treeBytes } from "../sandbox/local/own-tree.ts";
import { removeFolder } from "../sandbox/local/remove-folder.ts";

const NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;
const ROOT = "root";
/** No name of a base can begin so. */
const DRAFT = "_draft-";

const BaseFacts = z.object({
  name: z.string().regex(NAME),
  /** Lowercase hex SHA-256 of what is in it. */
  id: z.string().regex(/^[0-9a-f]{64}$/),
  made_at: z.string(),
  size_bytes: z.number(),
});

export type Base = z.infer<typeof BaseFacts> & {
  /** Absolute path of the root file system. */
  readonly root: string;
};

/** True of what a root file system may be called. */
export function isBaseName(name: string): boolean {
  return NAME.test(name) && name !== "host";
}

/**
 * Root file systems of one data folder, each under a name, in a folder that no sandbox writes. One is made
 * in a draft beside and becomes the one of its name by one rename. The one before stays until no sandbox
 * can have it, which is when hands start.
 */
export class BaseStore {
  readonly #folder: string;

  constructor(dataFolder: string) {
    this.#folder = join(dataFolder, "bases");
  }

  find(name: string): Base | undefined {
    if (!isBaseName(name)) return undefined;
    let text: string;
    try {
      text = readFileSync(join(this.#folder, `${name}.json`), "utf8");
    } catch {
      return undefined;
    }
    const { place, ...facts } = Pointer.parse(JSON.parse(text));
    const root = join(this.#folder, place, ROOT);
    return lstatSync(root, { throwIfNoEntry: false }) ? { ...facts, root } : undefined;
  }

  list(): readonly Base[] {
    return this.#names()
      .filter((file) => file.endsWith(".json"))
      .flatMap((file) => this.find(file.slice(0, -".json".length)) ?? []);
  }

  /**
   * Makes a root file system in an empty draft by `fill`, which gives its id, and puts it under the name.
   * Rejects with `OperatorError` where another process makes one.
   */
  async make(name: string, fill: (root: string) => Promise<string>): Promise<Base> {
    if (!isBaseName(name)) {
      throw new OperatorError(`"${name}" is no name for a base: small letters, digits and -`);
    }
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const lock = acquireFileLock(join(this.#folder, "making.lock"));
    if (lock === undefined) throw new OperatorError("a base is being made by another process");
    const random = randomBytes(6).toString("hex");
    const [place, draft] = [`${name}-${random}`, join(this.#folder, `${DRAFT}${random}`)];
    try {
      await this.#removeDrafts();
      await mkdir(draft);
      const id = await fill(join(draft, ROOT));
      const size_bytes = await treeBytes(draft);
      await syncTree(draft);
      failPoint("base.make.before_publish");
      const facts = { name, id, made_at: new Date().toISOString(), size_bytes };
      const folder = join(this.#folder, place);
      await rename(draft, folder);
      await this.#point(name, { ...facts, place });
      failPoint("base.make.after_publish");
      return { ...facts, root: join(folder, ROOT) };
    } catch (error) {
      await removeFolder(draft, []);
      throw error;
    } finally {
      lock.release();
    }
  }

  /** Removes what no name leads to. Only while no sandbox runs; nothing is done while one is being made. */
  async clean(): Promise<void> {
    if (this.#names().length === 0) return;
    const lock = acquireFileLock(join(this.#folder, "making.lock"));
    if (lock === undefined) return;
    try {
      const named = new Set(this.list().map(({ root }) => join(root, "..")));
      for (const entry of this.#names()) {
        const path = join(this.#folder, entry);
        const isFolder = lstatSync(path).isDirectory();
        if (isFolder && !named.has(path)) await removeFolder(path, []);
      }
    } finally {
      lock.release();
    }
  }

  /** What killed processes left: whoever holds the lock is the only one to make any. */
  async #removeDrafts(): Promise<void> {
    for (const entry of this.#names()) {
      if (entry.startsWith(DRAFT)) await removeFolder(join(this.#folder, entry), []);
    }
  }

  async #point(name: string, pointer: z.infer<typeof Pointer>): Promise<void> {
    const file = join(this.#folder, `${name}.json`);
    await writeFile(`${file}.tmp`, `${JSON.stringify(pointer)}\n`);
    await syncTree(`${file}.tmp`);
    await rename(`${file}.tmp`, file);
  }

  #names(): readonly string[] {
    try {
      return readdirSync(this.#folder);
    } catch {
      return [];
    }
  }
}

const Pointer = BaseFacts.extend({ place: z.string().regex(/^[a-z0-9-]+$/) });
