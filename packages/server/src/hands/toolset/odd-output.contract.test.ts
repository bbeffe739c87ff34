import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Box, startOn } from "../../core/ports/sandbox.testsuite.ts";
import { type BubblewrapWorld, openBubblewrapWorld } from "../sandbox/bubblewrap/test-world.ts";
import { executeTool } from "./execute-tool.ts";

let world: BubblewrapWorld;
let box: Box;
beforeAll(async () => {
  world = await openBubblewrapWorld();
  box = await startOn(world.provider);
});
afterAll(async () => {
  await box[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

async function call(name: string, input: Record<string, unknown>): Promise<string> {
  const signal = new AbortController().signal;
  const { content, is_error } = await executeTool(box.sandbox, { name, input }, () => {}, signal);
  const [block] = content;
  if (content.length !== 1 || block?.type !== "text") throw new Error("not one text");
  return is_error ? `error: ${block.text}` : block.text;
}

/** Writes `words` so often as there are places to split it, with a pause at that place. */
const SPLITTER = `
open my $file, '<', 'words' or die; local $/; my $words = <$file>;
for my $at (0 .. length $words) {
  syswrite STDOUT, substr $words, 0, $at;
  select undef, undef, undef, 0.004;
  syswrite STDOUT, substr($words, $at) . "|";
}`;

test("text that is split at any byte, whatever the pause, comes out as it was", async () => {
  const words = "aü€😀\u{10FFFF}\uFEFF\uD7FF\uE000\u2028ß";
  await box.sandbox.write("/workspace/words", Buffer.from(words));
  await box.sandbox.write("/workspace/split.pl", Buffer.from(SPLITTER));
  const places = Buffer.byteLength(words) + 1;
  expect(await call("bash", { command: "perl split.pl" })).toBe(`${words}|`.repeat(places));
});

test("any bytes are the text that a decoder makes of them, without what no text may have", async () => {
  const lengths = fc.constantFrom(1, 10, 300);
  const piece = fc.oneof(
    fc.string({ unit: "binary" }).map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
    fc.constantFrom(Buffer.from([0xed, 0xa0, 0x80]), Buffer.from([0xf0, 0x9f]), Buffer.from([0])),
  );
  const outputs = lengths.chain((maxLength) => fc.array(piece, { maxLength }));
  await fc.assert(
    fc.asyncProperty(outputs, async (pieces) => {
      // The letter keeps what a terminal would not show at the end.
      const bytes = Buffer.concat([...pieces, Buffer.from("z")]);
      await box.sandbox.write("/workspace/bytes", bytes);
      const expected = bytes.toString("utf8").replaceAll("\0", "\uFFFD");
      expect(await call("read", { file_path: "bytes" })).toBe(expected);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what a terminal takes for colours
      const shown = expected.replaceAll(/\u001b\[[0-9;?]*[ -/]*[@-~]/g, "");
      expect(await call("bash", { command: "cat bytes" })).toBe(shown);
    }),
    { numRuns: 40 },
  );
});

test("an excerpt of a long output has no half characters at its cuts", async () => {
  // Whatever the cuts, one of the two is in the middle of a pair.
  for (const start of ["", "x"]) {
    await box.sandbox.write("/workspace/pairs", Buffer.from(`${start}${"😀".repeat(60_000)}`));
    for (const [name, input] of [
      ["bash", { command: "cat pairs" }],
      ["bash", { command: "cat pairs; printf y" }],
    ] as const) {
      const text = await call(name, input);
      expect(text).toMatch(/^x?(😀)+\n\n\[output truncated: 24000\d bytes; .*\]\n\n(😀)+y?$/u);
    }
  }
});

test("5 MB of output is an excerpt, and all of it can be read back by a tool", async () => {
  const text = await call("bash", { command: "yes 'line of text' | head -c 5M" });
  const [, path] = /\[output truncated: 5242880 bytes; all of it is in (\S+)\]/.exec(text) ?? [];
  expect(
    await call("bash", { command: `cmp ${path} <(yes 'line of text' | head -c 5M) && echo same` }),
  ).toBe("same");
  expect(await call("read", { file_path: path, view_range: [300_000, 300_001] })).toBe(
    "line of text\nline of text",
  );
  expect(await call("grep", { pattern: "^line$", path })).toBe("no matches");
});

test("files whose names are no text are found, and shown as far as they are text", async () => {
  await call("bash", {
    command:
      "mkdir odd; cd odd; for n in $'\\xff' $'a\\xc3' ü $'two\\nlines'; do echo found > \"$n\"; done; cd ..",
  });
  const names = (text: string) => text.replaceAll("/workspace/odd/", "").split("\n").sort();
  const found = ["a\uFFFD", "lines", "two", "ü", "\uFFFD"];
  expect(names(await call("glob", { pattern: "odd/*" }))).toEqual(found);
  const lines = (await call("grep", { pattern: "found", path: "odd" })).split("\n");
  expect(lines.filter((line) => line.endsWith(":1:found"))).toHaveLength(4);
  expect(await call("read", { file_path: "odd/\uFFFD" })).toMatch(/no such file/);
  expect(await call("write", { file_path: "odd/\uFFFD", content: "mine" })).toMatch(/^wrote/);
  expect(await call("bash", { command: "cat odd/$'\\xff'" })).toBe("found");
});
