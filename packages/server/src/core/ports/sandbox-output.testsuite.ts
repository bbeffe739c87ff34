import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Box, type SandboxWorld, startOn } from "./sandbox.testsuite.ts";

/** `5M` of `head`, and as long is what this makes of numbers. */
const LONG_BYTES = 5 * 1024 * 1024;
const LONG = `seq 1 2000000 | head -c ${LONG_BYTES}`;
const WORDS = "aü€😀\u{10FFFF}\u0000\uFEFF\n";

/** What must be true of every provider of the bytes that come out of a sandbox. */
export function testOutput(name: string, open: () => Promise<SandboxWorld>): void {
  describe(`${name}: output`, () => {
    let world: SandboxWorld;
    let box: Box;
    beforeAll(async () => {
      world = await open();
      box = await startOn(world.provider);
    });
    afterAll(async () => {
      await box[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    });

    test("5 MB are passed on but for a middle that is counted, and can be read back whole", async () => {
      const expected = Buffer.from(
        Array.from({ length: 800_000 }, (_, index) => `${index + 1}\n`).join(""),
      ).subarray(0, LONG_BYTES);
      const spill = { path: "/mnt/session/.spill/long", afterBytes: 1000, bytesMax: 1 << 26 };
      const { result, bytes } = await outputOf(box, LONG, spill);
      expect(result).toMatchObject({
        exitCode: 0,
        output_bytes: LONG_BYTES,
        spilled_bytes: LONG_BYTES,
      });
      const omitted = result.omitted_bytes ?? 0;
      expect(bytes.byteLength + omitted).toBe(LONG_BYTES);
      // What is left out lies between a beginning and an end, at a place that is not told.
      const head = commonPrefix(bytes, expected);
      expect(head).toBeGreaterThan(1 << 20);
      const tail = bytes.byteLength - head;
      expect(bytes.subarray(head).equals(expected.subarray(LONG_BYTES - tail))).toBe(true);
      const { bytes: kept, size_bytes } = await box.sandbox.read(spill.path, {
        offset: 0,
        limit: 2 * LONG_BYTES,
      });
      expect(size_bytes).toBe(LONG_BYTES);
      expect(Buffer.from(kept).equals(expected)).toBe(true);
    });

    test("bytes of every value come out as they are, from commands, programs and files", async () => {
      const all = Uint8Array.from({ length: 256 * 256 }, (_, index) => index ^ (index >> 8));
      await box.sandbox.write("/workspace/all", all);
      expect((await outputOf(box, "cat all")).bytes.equals(all)).toBe(true);
      expect(Buffer.from((await box.run("cat", "/workspace/all")).stdout).equals(all)).toBe(true);
      const { bytes } = await box.sandbox.read("/workspace/all", { offset: 0, limit: 1 << 20 });
      expect(Buffer.from(bytes).equals(all)).toBe(true);
    });

    test("output that is written byte by byte arrives byte for byte", async () => {
      await box.sandbox.write("/workspace/words", Buffer.from(WORDS.repeat(40)));
      const slowly = `perl -e 'open F, "<", "words"; local $/; for (split //, <F>) { syswrite STDOUT, $_ }'`;
      const { bytes } = await outputOf(box, slowly);
      expect(bytes.toString()).toBe(WORDS.repeat(40));
    });

    test("files whose names are no text are listed, and are no way to others", async () => {
      await box.sh(
        "mkdir odd; cd odd; touch $'\\xff' $'a\\xc3' $'\\xed\\xa0\\x80' ü $'new\\nline'; cd ..",
      );
      const files = await box.sandbox.list("/workspace/odd", 100);
      const names = files.map(({ path }) => path.slice("/workspace/odd/".length)).sort();
      expect(names).toEqual(["a\uFFFD", "new\nline", "ü", "\uFFFD", "\uFFFD\uFFFD\uFFFD"]);
      expect(await box.sandbox.stat("/workspace/odd/\uFFFD")).toBe(undefined);
      expect(await box.sandbox.stat("/workspace/odd/ü")).toMatchObject({ type: "file" });
    });

    test("a lone surrogate in a command, a path or an argument is U+FFFD", async () => {
      expect((await box.sh("echo a\uD800b")).output).toBe("a\uFFFDb\n");
      await box.sandbox.write("/workspace/lone\uDC00", Buffer.from("x"));
      expect((await box.sh("cat lone\uFFFD")).output).toBe("x");
      const { stdout } = await box.run("echo", "\uD83D");
      expect(Buffer.from(stdout).toString()).toBe("\uFFFD\n");
    });

    test("a write that is cut short leaves what was there, and nothing else, to the next sandbox", async () => {
      const hand = `hand_cut_${process.pid}`;
      await using first = await startOn(world.provider, { hand });
      await first.sh("mkdir d; echo old > d/file");
      const content = new Uint8Array(64 * 1024 * 1024);
      const writing = first.sandbox.write("/workspace/d/file", content);
      const other = first.sandbox.write("/workspace/d/new", content);
      await expect(
        Promise.all([
          writing,
          other,
          first.sh("until echo d/.* | grep write; do :; done; kill -9 $PPID; sleep 600"),
        ]),
      ).rejects.toThrow("the sandbox is gone");
      await Promise.allSettled([writing, other]);
      await first.sandbox.closed;
      await using next = await startOn(world.provider, { hand });
      const look = "find . -mindepth 1 | sort; cat d/file";
      expect((await next.sh(look)).output).toBe("./d\n./d/file\nold\n");
    });
  });
}

async function outputOf(
  box: Box,
  command: string,
  spill?: { path: string; afterBytes: number; bytesMax: number },
) {
  const chunks: Buffer[] = [];
  const result = await box.sandbox.exec(
    { command, timeoutMs: 20_000, ...(spill && { spill }) },
    (chunk) => chunks.push(Buffer.from(chunk)),
    new AbortController().signal,
  );
  return { result, bytes: Buffer.concat(chunks) };
}

function commonPrefix(one: Buffer, other: Buffer): number {
  const most = Math.min(one.byteLength, other.byteLength);
  let at = 0;
  while (at < most && one[at] === other[at]) at += 1;
  return at;
}
