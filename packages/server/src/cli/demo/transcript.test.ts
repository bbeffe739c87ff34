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
  expect(lines.length).toBe(31);
  expect(lines.at(-1)).toContain("… 70 more");
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
