import { existsSync } from "node:fs";
import { answer, toolCall } from "@drover/testing";
import { expect, test } from "vitest";
import { Conversation, resultsOf } from "./support/conversation.ts";
import { script } from "./support/last-words.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld({ DROVER_SANDBOX_MEMORY_MB: "128", DROVER_SANDBOX_PROCESSES: "48" });

/** Root can set these limits wherever control groups are of version 1; else it depends on the set-up. */
const canLimit = process.getuid?.() === 0 && existsSync("/sys/fs/cgroup/memory/cgroup.procs");

test.skipIf(!canLimit)("a model is told which limit its command met", async () => {
  const talk = await Conversation.open(world());
  const hog = toolCall("bash", { command: "echo begun; perl -e '$x = q(a) x 600_000_000'" });
  const child = toolCall("bash", { command: "perl -e '$x = q(a) x 600_000_000' & wait; echo on" });
  const fork = toolCall("bash", {
    command:
      "perl -e 'while (defined(my $pid = fork)) { if (!$pid) { sleep 60; exit } push @all, $pid } kill 9, @all; print qq(refused)'",
  });
  const after = toolCall("bash", { command: "echo alive" });
  await talk.say(script(answer(hog), answer(child), answer(fork), answer(after), answer("done")));
  const [hogged, orphaned, ...others] = resultsOf(await talk.afterTurns(1));
  // Between the output and the remark the shell may say in its own words that a process was killed.
  expect(hogged).toEqual({ text: expect.stringMatching(/^begun\n/), isError: true });
  expect(orphaned).toEqual({ text: expect.stringMatching(/^on\n|\non\n/), isError: false });
  const killed =
    "\n\nkilled: memory limit 128 MB (at least one process of the sandbox was ended by it)";
  expect([hogged, orphaned].map((result) => result?.text.endsWith(killed))).toEqual([true, true]);
  expect(others).toEqual([
    { text: "refused\n\nfork refused: limit of 48 processes", isError: false },
    { text: "alive", isError: false },
  ]);
});
