import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { Transcript } from "./transcript.ts";

test("a sandbox's output cannot steer the terminal", () => {
  const { transcript, written } = plain();
  transcript.say("result", "a\u001b[2Jb\u0007\u009b31m\u202ec\r\nnext");
  transcript.section("report", "x\u001b]0;title\u0007");
  expect(written().replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(written()).toContain("next");
});

test("long output is shortened and says so", () => {
  const { transcript, written } = plain();
  transcript.say("result", Array.from({ length: 100 }, (_, index) => `line ${index}`).join("\n"));
  const lines = written().trimEnd().split("\n");
  expect(lines.length).toBe(41);
  expect(lines.at(-1)).toContain("… 60 more lines");
});

test("what is said is wrapped and shown whole, what was printed keeps its lines", () => {
  const { transcript, written } = plain();
  const text = Array.from({ length: 60 }, (_, index) => `word${index}`).join(" ");
  transcript.say("agent", text);
  expect(written().match(/word\d+/g)?.length).toBe(60);
  expect(written().trimEnd().split("\n").length).toBeGreaterThan(4);
});

test("a line is followed by what is known about it", () => {
  const { transcript, written } = plain();
  transcript.say("result", "one\ntwo", (line) => (line === "two" ? "the second" : undefined));
  expect(written()).toMatch(/one\n.*two {2}the second\n$/);
});

function plain(): { transcript: Transcript; written: () => string } {
  const chunks: string[] = [];
  const out = new Writable({
    write(chunk, _, done) {
      chunks.push(String(chunk));
      done();
    },
  });
  return { transcript: new Transcript(out), written: () => chunks.join("") };
}
