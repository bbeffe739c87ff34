import { createHash } from "node:crypto";
import { lstat, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type MemoryWrite, planWriteBack } from "../../../core/memory/write-back.ts";
import type { MemoryMount, MemoryReport } from "../../../core/ports/hands.ts";
import type { MemoryAcknowledgement } from "../../../core/ports/memory-copies.ts";
import type { MemoryRecord } from "../../../core/ports/memory-stores.ts";
import { startOn } from "../../../core/ports/sandbox.testsuite.ts";
import { HandMemory } from "../../memory/hand-memory.ts";
import type { InstallationWorld } from "./installation-world.ts";

const ROOM = 1_000_000;
const never = () => new AbortController().signal;
const sha256Of = (text: string) => createHash("sha256").update(text).digest("hex");
const mountOf = (slug: string, access: MemoryMount["access"] = "read_write"): MemoryMount => ({
  type: "memory_store",
  mount_path: `/mnt/memory/${slug}`,
  memory_store_id: `memstore_${slug}`,
  access,
});

/** The other side: a store's memories, and what is stored of a hand's reports. */
class StandInStore {
  readonly mount: MemoryMount;
  files: Map<string, string>;
  revision = 1;
  versions: string[] = [];
  stored: MemoryAcknowledgement | null = null;

  constructor(mount: MemoryMount, files: Readonly<Record<string, string>> = {}) {
    this.mount = mount;
    this.files = new Map(Object.entries(files));
  }

  /** As somebody else does it. */
  set(path: string, content: string | undefined): void {
    if (content === undefined) this.files.delete(path);
    else this.files.set(path, content);
    this.revision += 1;
  }

  async bring(memory: HandMemory): Promise<void> {
    const { memory_store_id } = this.mount;
    const entries = [...this.files].map(([path, text]) => ({
      ...{ path, sha256: sha256Of(text), size_bytes: Buffer.byteLength(text) },
    }));
    const stores = [{ memory_store_id, revision: this.revision, entries }];
    const acknowledged = this.stored;
    const missing = await memory.offer({ acknowledged, stores, contents: [] });
    const contents = [...this.files.values()].filter((text) => missing.includes(sha256Of(text)));
    expect(await memory.offer({ acknowledged, stores: [], contents })).toEqual([]);
  }

  /** What a server does in one transaction. */
  store(report: MemoryReport | undefined): readonly string[] {
    if (report === undefined) return [];
    if (this.stored?.copy_id === report.copy_id && this.stored.seq >= report.seq) return [];
    const changes = report.changes.map((change) => ({
      ...change,
      sha256: change.content === null ? null : sha256Of(change.content),
    }));
    const { writes, told } = planWriteBack(this.#records(), changes);
    for (const write of writes) this.#carryOut(write);
    const { memory_store_id } = this.mount;
    const { copy_id, seq } = report;
    const refused = told.flatMap(({ type, path }) =>
      type === "refused" ? [{ memory_store_id, path }] : [],
    );
    this.stored = { copy_id, seq, refused };
    return [
      ...told.map(({ type, path }) => `${type} ${path}`),
      ...report.unstored.map(({ reason, path }) => `${reason} ${path}`),
    ].toSorted();
  }

  #carryOut(write: MemoryWrite): void {
    this.revision += 1;
    const path = "path" in write ? write.path : write.memory.path;
    const content = "content" in write ? write.content : this.files.get(writtenPath(write));
    if (write.type === "delete" || write.type === "rename") this.files.delete(write.memory.path);
    if (write.type !== "delete") this.files.set(path, content ?? "");
    this.versions.push(`${write.type} ${path}`);
  }

  #records(): readonly MemoryRecord[] {
    return [...this.files].map(([path, content]) => ({
      ...{ workspace_id: "", memory_store_id: "", id: path, memory_version_id: "", path },
      ...{ content: null, content_sha256: sha256Of(content) },
      ...{ content_size_bytes: 0, created_at: "", updated_at: "" },
    }));
  }
}

function writtenPath(write: MemoryWrite): string {
  return write.type === "create" ? write.path : write.memory.path;
}

/**
 * What holds of memory stores in a sandbox. Run for every provider; `isWhole` for what is told of a copy and
 * becomes of it, too, which is the hands' doing and the same for each.
 */
export function testMemory(
  title: string,
  open: () => Promise<InstallationWorld>,
  { isWhole }: { readonly isWhole: boolean } = { isWhole: true },
): void {
  const testCopies = test.runIf(isWhole);
  describe(`memory stores in a sandbox (${title})`, () => {
    let world: InstallationWorld;
    beforeAll(async () => {
      world = await open();
    });
    afterAll(async () => world[Symbol.asyncDispose]());

    let hands = 0;
    const mounted = async (store: StandInStore, hand = `hand_memory_${++hands}`) => {
      const handFolder = join(world.folder, "hands", hand);
      const mounts = [store.mount];
      let memory = new HandMemory(handFolder);
      const box = await startOn(world.provider, { mounts, hand });
      const begin = async () => {
        await store.bring(memory);
        await memory.refresh(box.sandbox, mounts, never());
      };
      const end = (room = ROOM) => memory.collect(box.sandbox, mounts, { room, signal: never() });
      return {
        ...{ hand, handFolder, mounts, box, begin, end },
        /** As a process that died comes back. */
        restart: () => {
          memory = new HandMemory(handFolder);
        },
        /** One call: what is told of it. */
        call: async (command: string) => {
          await begin();
          const { output } = await box.sh(command);
          return { output, told: store.store(await end()) };
        },
        [Symbol.asyncDispose]: () => box[Symbol.asyncDispose](),
      };
    };

    test("are read where they are mounted, and what is written, moved and deleted comes back", async () => {
      const store = new StandInStore(mountOf("notes"), {
        "/a.md": "one\n",
        "/deep/er/b.md": "two\n",
        "/c.md": "three\n",
        "/empty": "",
      });
      await using hand = await mounted(store);
      const first = await hand.call("cd /mnt/memory/notes; grep -r . | sort; wc -c <empty");
      expect(first).toEqual({
        output: "a.md:one\nc.md:three\ndeep/er/b.md:two\n0\n",
        told: [],
      });
      expect(store.versions).toEqual([]);
      const script = [
        "cd /mnt/memory/notes",
        ...["echo more >>a.md", "mv deep/er/b.md moved.md", "rm c.md"],
        ...["mkdir -p new/folder", "echo ünï >new/folder/f"],
      ];
      expect(await hand.call(script.join("; "))).toEqual({ output: "", told: [] });
      expect(store.versions).toEqual([
        ...["delete /c.md", "rename /moved.md", "update /a.md", "create /new/folder/f"],
      ]);
      expect(Object.fromEntries(store.files)).toEqual({
        "/a.md": "one\nmore\n",
        "/moved.md": "two\n",
        "/empty": "",
        "/new/folder/f": "ünï\n",
      });
      const versions = [...store.versions];
      await hand.call("true");
      hand.restart();
      await hand.call("cat /mnt/memory/notes/a.md >/dev/null");
      expect(store.versions).toEqual(versions);
    });

    test("that are read-only cannot be written by any way there is inside, and follow the store", async () => {
      const store = new StandInStore(mountOf("fixed", "read_only"), { "/a": "a", "/d/b": "b" });
      await using hand = await mounted(store);
      const ways = [
        ...["echo x >a", "rm -f a", "touch new", "mkdir new", "chmod 777 a", "mv a z", "ln a z"],
        ...["ln -s /etc/passwd z", "perl -e 'truncate(q(a), 0) or exit 1'", "mv d e"],
        ...["touch /mnt/memory/other", "mkdir /mnt/memory/fixed2", "mv /mnt/memory/fixed /mnt/x"],
      ];
      await hand.begin();
      for (const way of ways) {
        const { exitCode } = await hand.box.sh(`cd /mnt/memory/fixed; ${way}`);
        expect([way, exitCode]).not.toEqual([way, 0]);
      }
      const write = hand.box.sandbox.write("/mnt/memory/fixed/a", Buffer.from("x"));
      await expect(write).rejects.toThrow();
      expect(await hand.end()).toBeUndefined();
      store.set("/a", "changed");
      store.set("/d/b", undefined);
      store.set("/d", "now a file");
      hand.restart();
      const { output } = await hand.call("cd /mnt/memory/fixed; grep -r . | sort");
      expect(output).toBe("a:changed\nd:now a file\n");
      expect(store.versions).toEqual([]);
    });

    test("show what others change before the next call, and overwrite nothing that is not stored", async () => {
      const store = new StandInStore(mountOf("shared"), { "/a": "a", "/b": "b", "/gone": "g" });
      await using hand = await mounted(store);
      await hand.call("true");
      store.set("/a", "a of others");
      store.set("/gone", undefined);
      store.set("/dir/new", "n");
      const { output } = await hand.call("cd /mnt/memory/shared; grep -r . | sort");
      expect(output).toBe("a:a of others\nb:b\ndir/new:n\n");
      // A process between two calls, while others change the same memory, and one that it did not touch.
      await hand.box.sh("cd /mnt/memory/shared; echo mine >b; echo kept >own");
      store.set("/b", "b of others");
      store.set("/a", "again");
      const beside = `/b.conflict-${sha256Of("mine\n").slice(0, 8)}`;
      const call = await hand.call("cd /mnt/memory/shared; cat b own a");
      expect(call).toEqual({ output: "mine\nkept\nagain", told: ["beside /b"] });
      const after = await hand.call("cd /mnt/memory/shared; grep -r . | sort");
      expect(after).toEqual({
        output: `a:again\n${beside.slice(1)}:mine\nb:b of others\ndir/new:n\nown:kept\n`,
        told: [],
      });
      expect(store.versions).toEqual(["create /own", `create ${beside}`]);
    });

    testCopies("tell by name what cannot be stored, once, and leave it", async () => {
      const store = new StandInStore(mountOf("odd"), { "/ok": "1", "/linked": "2" });
      await using hand = await mounted(store);
      const long = "x".repeat(200);
      const deep = Array.from({ length: 6 }, () => long).join("/");
      const script = [
        "cd /mnt/memory/odd",
        "head -c 102401 /dev/zero | tr '\\0' x >big",
        "head -c 102400 /dev/zero | tr '\\0' x >fits",
        "printf '\\377\\376' >binary",
        "printf 'a\\0b' >nul",
        "ln -sf /etc/passwd linked",
        "ln -s /etc outside",
        "mkfifo pipe",
        "touch $'bad\\tname'",
        `mkdir -p ${deep}; touch ${deep}/f`,
      ];
      const { told } = await hand.call(script.join("\n"));
      expect(told.map((each) => each.slice(0, 30))).toEqual([
        ...["bad_path /bad\tname", `bad_path /${long}`.slice(0, 30)],
        ...["not_a_file /linked", "not_a_file /outside", "not_a_file /pipe"],
        ...["not_text /binary", "not_text /nul", "too_large /big"],
      ]);
      expect(store.versions).toEqual(["create /fits"]);
      expect((await hand.call("true")).told).toEqual([]);
      expect(await hand.call("cd /mnt/memory/odd; rm -r linked big; echo 3 >linked")).toMatchObject(
        {
          told: [],
        },
      );
      expect(store.files.get("/linked")).toBe("3\n");
      expect((await hand.box.sh("echo /mnt/memory/odd/*")).output).toContain("binary");
    });

    testCopies("are not deleted by what only hides their files", async () => {
      const store = new StandInStore(mountOf("hidden"), { "/d/a": "a", "/b": "b" });
      await using hand = await mounted(store);
      await hand.call("true");
      await hand.call("chmod 000 /mnt/memory/hidden/d");
      await hand.call("chmod 000 /mnt/memory/hidden");
      expect(store.versions).toEqual([]);
      await hand.call(
        "chmod 755 /mnt/memory/hidden /mnt/memory/hidden/d; rm -r /mnt/memory/hidden/d",
      );
      expect(store.versions).toEqual(["delete /d/a"]);
    });

    test("write through no link of the sandbox's, neither inside nor on the host", async () => {
      const store = new StandInStore(mountOf("links"), { "/a": "a", "/d/b": "b" });
      await using hand = await mounted(store);
      await hand.call("true");
      await hand.box.sh(
        "cd /mnt/memory/links; mkdir /workspace/t; mv d /workspace/t; ln -s /workspace/t/d d",
      );
      await hand.box.sh(
        "echo secret >/workspace/s; cd /mnt/memory/links; rm a; ln -s /workspace/s a",
      );
      store.set("/a", "a of others");
      store.set("/d/b", "b of others");
      store.set("/d/c", "c of others");
      const { told } = await hand.call("true");
      const links = ["not_a_file /a", "not_a_file /d"];
      expect(told).toEqual([...links, "not_shown /d/b", "not_shown /d/c"]);
      const { output } = await hand.box.sh("cat /workspace/s /workspace/t/d/*");
      expect(output).toBe("secret\nb");
      expect(store.versions).toEqual([]);
      await hand.box.sh("cd /mnt/memory/links; rm a d; echo own >a");
      store.set("/d/c", "c once more");
      const call = await hand.call("cd /mnt/memory/links; ls -R");
      expect(call.told).toEqual(["beside /a", "not_deleted /d/b"]);
      const after = await hand.call("cd /mnt/memory/links; cat a d/*");
      expect(after.output).toBe("a of othersb of othersc once more");
    });

    testCopies(
      "lose nothing and write nothing twice when a side dies at any point between",
      async () => {
        const store = new StandInStore(mountOf("mortal"), { "/a": "a" });
        await using hand = await mounted(store);
        await hand.call("echo 1 >>/mnt/memory/mortal/a");
        // Written, and the hands die before it is reported.
        await hand.box.sh("echo 2 >/mnt/memory/mortal/b");
        hand.restart();
        await hand.begin();
        // Reported, and nobody stores it; then again, and the hands die before they hear that it is stored.
        await hand.end();
        hand.restart();
        await hand.begin();
        const report = await hand.end();
        store.store(report);
        expect(store.versions).toEqual(["update /a", "create /b"]);
        hand.restart();
        // Others change it back meanwhile: that the sandbox's version is stored is known all the same.
        store.set("/b", undefined);
        const { output, told } = await hand.call("cd /mnt/memory/mortal; ls");
        expect({ output, told }).toEqual({ output: "a\n", told: [] });
        expect(store.versions).toEqual(["update /a", "create /b"]);
        // A result that comes twice is stored once.
        await hand.begin();
        await hand.box.sh("echo 3 >/mnt/memory/mortal/c");
        const last = await hand.end();
        store.store(last);
        store.store(last);
        expect(store.versions.slice(2)).toEqual(["create /c"]);
      },
    );

    test("are in the hand's next sandbox as they were, with what was not stored", async () => {
      const store = new StandInStore(mountOf("again"), { "/a": "a" });
      const mounts = [store.mount];
      await using hand = await mounted(store);
      await hand.call("true");
      await hand.box.sh("echo unsaved >/mnt/memory/again/b");
      await hand.box.sandbox.close();
      const memory = new HandMemory(hand.handFolder);
      store.set("/c", "c");
      await using box = await startOn(world.provider, { mounts, hand: hand.hand });
      await store.bring(memory);
      await memory.refresh(box.sandbox, mounts, never());
      expect((await box.sh("cd /mnt/memory/again; ls")).output).toBe("a\nb\nc\n");
      store.store(await memory.collect(box.sandbox, mounts, { room: ROOM, signal: never() }));
      expect(store.versions).toEqual(["create /b"]);
    });

    testCopies("leave what does not fit into one result to the next, and say so", async () => {
      const store = new StandInStore(mountOf("much"));
      await using hand = await mounted(store);
      await hand.begin();
      await hand.box.sh(
        "cd /mnt/memory/much; for i in 1 2 3; do head -c 1000 /dev/zero | tr '\\0' $i >$i; done",
      );
      expect(store.store(await hand.end(2_200))).toEqual(["deferred /3"]);
      expect([...store.files.keys()]).toEqual(["/1", "/2"]);
      expect((await hand.call("true")).told).toEqual([]);
      expect([...store.files.keys()]).toEqual(["/1", "/2", "/3"]);
    });

    testCopies("may have many memories, which go with the hand", async () => {
      const many = Array.from({ length: 400 }, (_, n) => [`/f${n % 40}/n${n}`, `${n}`] as const);
      const store = new StandInStore(mountOf("many"), Object.fromEntries(many));
      const hand = await mounted(store);
      const { output } = await hand.call("find /mnt/memory/many -type f | wc -l");
      expect(output).toBe("400\n");
      await hand.call("rm -r /mnt/memory/many/f7");
      expect(store.versions).toHaveLength(10);
      const state = await readFile(join(hand.handFolder, "memory", "state.json"), "utf8");
      expect(state.length).toBeLessThan(60_000);
      await hand[Symbol.asyncDispose]();
      await expect(lstat(hand.handFolder)).rejects.toThrow("ENOENT");
    });
  });
}
