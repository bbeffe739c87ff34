import { randomUUID } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, utimesSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PackageManager } from "@drover/api";
import { z } from "zod";
import { failPoint } from "../../lib/fail-point.ts";
import { syncTree, treeBytes } from "../sandbox/local/own-tree.ts";
import { removeFolder } from "../sandbox/local/remove-folder.ts";

const FACTS = "layer.json";
const TREE = "tree";
const KEY = /^[0-9a-f]{64}$/;

const LayerFacts = z.object({
  manager: z.string(),
  names: z.array(z.string()),
  size_bytes: z.number(),
});

export interface Layer {
  readonly key: string;
  /** The folder that is shown. */
  readonly tree: string;
}

interface Kept {
  readonly key: string;
  readonly bytes: number;
  readonly usedMs: number;
}

export interface LayerLimits {
  /** Of all layers; beyond it those go that were not used for longest, and none that is in use. */
  readonly keptBytes: number;
}

/**
 * What was installed, by the key of what it was made from, in a folder that no sandbox writes. A layer is
 * whole or not there: it is made in a draft, which becomes a layer by being renamed.
 */
export class LayerStore {
  readonly #folder: string;
  readonly #drafts: string;
  readonly #limits: LayerLimits;
  /** Sandboxes and drafts that a layer must stay for. */
  readonly #uses = new Map<string, number>();

  constructor(folder: string, limits: LayerLimits) {
    this.#folder = folder;
    this.#drafts = join(folder, "drafts");
    this.#limits = limits;
  }

  /** Ids of the drafts that earlier processes left, which are those of the hands that wrote them. */
  leftDrafts(): readonly string[] {
    try {
      return readdirSync(this.#drafts);
    } catch {
      return [];
    }
  }

  async makeDraft(id: string): Promise<string> {
    await mkdir(this.#drafts, { recursive: true, mode: 0o700 });
    await mkdir(join(this.#drafts, id));
    const tree = this.draftTree(id);
    return tree;
  }

  draftTree(id: string): string {
    return join(this.#drafts, id, TREE);
  }

  async removeDraft(id: string): Promise<void> {
    await removeFolder(join(this.#drafts, id), [this.draftTree(id)]);
  }

  /** Undefined if there is none. */
  find(key: string): Layer | undefined {
    const folder = join(this.#folder, key);
    if (!lstatSync(join(folder, FACTS), { throwIfNoEntry: false })) return undefined;
    return { key, tree: join(folder, TREE) };
  }

  async publish(
    id: string,
    key: string,
    { manager, names }: { manager: PackageManager; names: readonly string[] },
  ): Promise<Layer> {
    const draft = join(this.#drafts, id);
    const size_bytes = await treeBytes(draft);
    const facts: z.infer<typeof LayerFacts> = { manager, names: [...names], size_bytes };
    await writeFile(join(draft, FACTS), JSON.stringify(facts));
    await syncTree(draft);
    failPoint("packages.before_publish");
    await rename(draft, join(this.#folder, key));
    failPoint("packages.after_publish");
    return { key, tree: join(this.#folder, key, TREE) };
  }

  /** The layer stays until the returned function is called, which is to be done once. */
  use(key: string): () => void {
    this.#uses.set(key, (this.#uses.get(key) ?? 0) + 1);
    const facts = join(this.#folder, key, FACTS);
    // The order in which they go when there are too many.
    if (lstatSync(facts, { throwIfNoEntry: false })) utimesSync(facts, new Date(), new Date());
    return () => {
      const left = (this.#uses.get(key) ?? 1) - 1;
      if (left > 0) this.#uses.set(key, left);
      else this.#uses.delete(key);
    };
  }

  /** Deletes unused layers while all together have more bytes than may be kept. */
  async collect(): Promise<void> {
    const kept = this.#kept().sort((one, other) => one.usedMs - other.usedMs);
    let bytes = kept.reduce((sum, layer) => sum + layer.bytes, 0);
    for (const { key, bytes: own } of kept) {
      if (bytes <= this.#limits.keptBytes) return;
      if (this.#uses.has(key)) continue;
      bytes -= own;
      // Out of sight first: half a layer must not be taken for one.
      const id = `gone-${randomUUID()}`;
      await mkdir(this.#drafts, { recursive: true, mode: 0o700 });
      await rename(join(this.#folder, key), join(this.#drafts, id));
      await this.removeDraft(id);
    }
  }

  #kept(): Kept[] {
    let names: string[];
    try {
      names = readdirSync(this.#folder);
    } catch {
      return [];
    }
    return names.flatMap((key) => {
      const facts = join(this.#folder, key, FACTS);
      const stat = lstatSync(facts, { throwIfNoEntry: false });
      if (!KEY.test(key) || stat === undefined) return [];
      const { size_bytes } = LayerFacts.parse(JSON.parse(readFileSync(facts, "utf8")));
      return [{ key, bytes: size_bytes, usedMs: stat.mtimeMs }];
    });
  }
}
