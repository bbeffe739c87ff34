import { createHash } from "node:crypto";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { MemoryMount, MemoryReport, UnstoredFile } from "../../core/ports/hands.ts";
import type { MemoryOffer, StoreSnapshot } from "../../core/ports/memory-copies.ts";
import { type Sandbox, SandboxFileError } from "../../core/ports/sandbox.ts";
import { failPoint } from "../../lib/fail-point.ts";
import { type CopyFolder, copyFolder, storeFolder } from "./copy-folder.ts";
import { CopyState, placeOf } from "./copy-state.ts";
import { eachOf } from "./each-of.ts";
import { FileScanner, type Scan } from "./file-scan.ts";
import { refreshReadOnly } from "./read-only-folder.ts";
import { planRefresh, type Refresh } from "./refresh-plan.ts";
import { isReportable, ReportDraft } from "./report-draft.ts";

/** The memory stores of one hand, as its sandbox sees them. One thing at a time is done to it. */
export class HandMemory {
  readonly #handFolder: string;
  readonly #folder: CopyFolder;
  readonly #targets = new Map<string, StoreSnapshot>();
  /** By store, the revision that its folder was made like. */
  readonly #made = new Map<string, number>();
  readonly #scanners = new Map<string, FileScanner>();
  /** Memories that could not be written, by store. */
  readonly #notShown = new Map<string, readonly string[]>();
  /** Files whose reason the model has been told. */
  readonly #told = new Set<string>();
  readonly #telling = new Map<number, readonly string[]>();
  #state: CopyState | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(handFolder: string) {
    this.#handFolder = handFolder;
    this.#folder = copyFolder(handFolder);
  }

  /** See `MemoryCopies.offer`; gives the hashes that are missing. */
  offer(
    offer: Pick<MemoryOffer, "acknowledged" | "stores" | "contents">,
  ): Promise<readonly string[]> {
    return this.#inTurn(async () => {
      const state = await this.#load();
      if (offer.acknowledged !== null) {
        state.acknowledge(offer.acknowledged);
        this.#acknowledgeTold(offer.acknowledged);
      }
      for (const store of offer.stores) {
        const { memory_store_id: id, revision } = store;
        if (revision < (this.#targets.get(id)?.revision ?? 0)) continue;
        this.#targets.set(id, store);
      }
      for (const content of offer.contents) {
        const sha256 = createHash("sha256").update(content).digest("hex");
        await writeFile(join(this.#folder.incoming, sha256), content, { mode: 0o644 });
      }
      return await this.#missing();
    });
  }

  /** Whether it is known what the stores are like. */
  isReady(mounts: readonly MemoryMount[]): boolean {
    return mounts.every(({ memory_store_id }) => this.#targets.has(memory_store_id));
  }

  /**
   * Makes the folders like the stores, but for what is new in them. Rejects if the sandbox is gone or the
   * signal aborted.
   */
  refresh(sandbox: Sandbox, mounts: readonly MemoryMount[], signal: AbortSignal): Promise<void> {
    return this.#inTurn(async () => {
      for (const mount of mounts) {
        const target = this.#targets.get(mount.memory_store_id);
        if (target === undefined || this.#made.get(mount.memory_store_id) === target.revision) {
          continue;
        }
        if (mount.access === "read_only") await this.#refreshReadOnly(target);
        else await this.#refresh(sandbox, { mount, target }, signal);
        this.#made.set(mount.memory_store_id, target.revision);
      }
      await this.#dropContents();
    });
  }

  /** What is changed in the folders; undefined for nothing. `room` is in bytes of the result. */
  collect(
    sandbox: Sandbox,
    mounts: readonly MemoryMount[],
    { room, signal }: { readonly room: number; readonly signal: AbortSignal },
  ): Promise<MemoryReport | undefined> {
    return this.#inTurn(async () => {
      const state = await this.#load();
      const draft = new ReportDraft(state, room);
      for (const mount of mounts) {
        const store = state.store(mount.memory_store_id);
        if (mount.access === "read_write") {
          const scan = await this.#scan(sandbox, mount, signal);
          await draft.add(mount, { store, scan }, sandbox);
        }
        for (const path of this.#notShown.get(mount.memory_store_id) ?? []) {
          const place = { memory_store_id: mount.memory_store_id, path };
          draft.unstored.push({ ...place, reason: "not_shown", version: "" });
        }
      }
      const untold = draft.unstored.filter((file) => !this.#told.has(keyOf(file)));
      if (draft.changes.length === 0 && untold.length === 0) return undefined;
      failPoint("hands.memory.before_report");
      const seq = await state.report(draft.states);
      failPoint("hands.memory.after_report");
      this.#telling.set(seq, untold.map(keyOf));
      const unstored = untold.map(({ version: _version, ...file }) => file);
      return { copy_id: state.copyId, seq, changes: draft.changes, unstored };
    });
  }

  /** Whether there are changes that no report has had. */
  hasNews(sandbox: Sandbox, mounts: readonly MemoryMount[], signal: AbortSignal): Promise<boolean> {
    return this.#inTurn(async () => {
      const state = await this.#load();
      const draft = new ReportDraft(state, Number.POSITIVE_INFINITY);
      for (const mount of mounts) {
        if (mount.access !== "read_write") continue;
        const store = state.store(mount.memory_store_id);
        await draft.add(mount, { store, scan: await this.#scan(sandbox, mount, signal) }, sandbox);
      }
      const reported = state.reported();
      return draft.states.some(
        ([storeId, path, found]) => reported.get(placeOf(storeId, path))?.at(-1) !== found,
      );
    });
  }

  async #refreshReadOnly(target: StoreSnapshot): Promise<void> {
    const state = await this.#load();
    const folder = storeFolder(this.#handFolder, target.memory_store_id);
    const store = state.store(target.memory_store_id);
    const { incoming } = this.#folder;
    const notShown = await refreshReadOnly({ folder, incoming, entries: target.entries, store });
    this.#notShown.set(target.memory_store_id, notShown);
    await state.save();
  }

  async #refresh(
    sandbox: Sandbox,
    { mount, target }: { readonly mount: MemoryMount; readonly target: StoreSnapshot },
    signal: AbortSignal,
  ): Promise<void> {
    const state = await this.#load();
    const store = state.store(mount.memory_store_id);
    const { files, unstorable } = await this.#scan(sandbox, mount, signal);
    const hidden = new Set(unstorable.map(({ path }) => path));
    const { refreshes, blocked } = planRefresh(target.entries, files, store, hidden);
    const before = new Map(refreshes.map(({ path }) => [path, store.knownAt(path)]));
    for (const { path, state: next } of refreshes) {
      store.reset(path, [...store.knownAt(path), next]);
    }
    await state.save();
    failPoint("hands.memory.before_refresh");
    const failed = [...blocked];
    const apply = async (refresh: Refresh) => {
      const done = await this.#apply(sandbox, mount.mount_path, refresh);
      if (done === "done") store.settle(refresh.path, refresh.state);
      else store.reset(refresh.path, before.get(refresh.path) ?? [null]);
      if (done === "failed" && refresh.state !== null) failed.push(refresh.path);
    };
    // What has to go may be where something else has to come.
    await eachOf(
      refreshes.filter((each) => each.state === null),
      signal,
      apply,
    );
    await eachOf(
      refreshes.filter((each) => each.state !== null),
      signal,
      apply,
    );
    failPoint("hands.memory.after_refresh");
    this.#notShown.set(mount.memory_store_id, failed.toSorted());
    await state.save();
  }

  /** `changed`: somebody was there first, and has it. */
  async #apply(
    sandbox: Sandbox,
    mountPath: string,
    { path, state, version }: Refresh,
  ): Promise<"done" | "changed" | "failed"> {
    const at = `${mountPath}${path}`;
    try {
      if (state === null) {
        const isRemoved = await sandbox.removeIf(at, { version: version ?? "", root: mountPath });
        return isRemoved ? "done" : "changed";
      }
      const content = await readFile(join(this.#folder.incoming, state));
      return (await sandbox.writeIf(at, content, version)) ? "done" : "changed";
    } catch (error) {
      if (error instanceof SandboxFileError) return "failed";
      throw error;
    }
  }

  async #scan(sandbox: Sandbox, mount: MemoryMount, signal: AbortSignal): Promise<Scan> {
    const id = mount.memory_store_id;
    const scanner = this.#scanners.get(id) ?? new FileScanner();
    this.#scanners.set(id, scanner);
    const store = (await this.#load()).store(id);
    const isWanted = (path: string, sha256: string) => isReportable(store, path, sha256);
    return await scanner.scan(sandbox, { mountPath: mount.mount_path, isWanted }, signal);
  }

  /** Contents that the targets have and the folders may not. */
  async #missing(): Promise<readonly string[]> {
    const present = new Set(await readdir(this.#folder.incoming));
    return [...(await this.#needed())].filter((sha256) => !present.has(sha256));
  }

  async #needed(): Promise<ReadonlySet<string>> {
    const state = await this.#load();
    const needed = new Set<string>();
    for (const { memory_store_id, entries, revision } of this.#targets.values()) {
      if (this.#made.get(memory_store_id) === revision) continue;
      const store = state.store(memory_store_id);
      for (const { path, sha256 } of entries) {
        const known = store.knownAt(path);
        if (known.length > 1 || known[0] !== sha256) needed.add(sha256);
      }
    }
    return needed;
  }

  async #dropContents(): Promise<void> {
    const needed = await this.#needed();
    for (const name of await readdir(this.#folder.incoming)) {
      if (!needed.has(name)) await rm(join(this.#folder.incoming, name), { force: true });
    }
  }

  #acknowledgeTold({ seq }: { seq: number }): void {
    for (const [at, keys] of this.#telling) {
      if (at === seq) for (const key of keys) this.#told.add(key);
      if (at <= seq) this.#telling.delete(at);
    }
  }

  async #load(): Promise<CopyState> {
    this.#state ??= await CopyState.load(this.#folder);
    return this.#state;
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return await turn;
  }
}

function keyOf({ memory_store_id, path, reason, version }: UnstoredFile & { version: string }) {
  return `${memory_store_id} ${reason} ${version} ${path}`;
}
