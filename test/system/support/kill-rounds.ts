import {
  type Answer,
  type AnswerBlock,
  answer,
  type JsonObject,
  type Random,
  toolCall,
} from "@drover/testing";
import { repeated } from "./last-words.ts";

/** What a session does in one round, during or after which its sandbox is struck once. */
export interface Round {
  readonly name: string;
  /** The calls of its first response. */
  readonly calls: readonly AnswerBlock[];
}

/** More than the agent takes in one piece, so that a write can be cut. */
export const PAGE_BYTES = 270_000;

/** Every tool, in the foreground and in the background, short and long, loud and quiet. */
export function roundOf(random: Random, round: number): Round {
  const log = (word: string) => `echo ${round} ${word} >> log`;
  const ms = (random.int(0, 30) / 100).toFixed(2);
  const bash = (name: string, command: string): Round => ({
    name,
    calls: [toolCall("bash", { command: `${log("begun")}; ${command}; ${log("done")}` })],
  });
  const one = (name: string, input: JsonObject): Round => ({
    name,
    calls: [toolCall(name, input)],
  });
  // In the words of the user alone it would fill the model's window, and be shortened.
  const page = repeated(String.fromCharCode(97 + (round % 26)), PAGE_BYTES);
  return random.pick<() => Round>([
    () => bash("bash", `sleep ${ms}`),
    () =>
      bash(
        "bash that lets others run",
        `(while :; do echo tick >> ticks; sleep 0.1; done) & sleep ${ms}`,
      ),
    () => bash("bash with big output", "yes 'a line of output' | head -c 5M"),
    () => bash("bash with slow output", "for i in $(seq 60); do echo $i; sleep 0.005; done"),
    () =>
      bash(
        "bash that makes files",
        "mkdir -p many; for i in $(seq 300); do echo $i > many/$i; done",
      ),
    () => one("write", { file_path: "page", content: page }),
    () =>
      one("edit", {
        file_path: "state",
        old_string: "state",
        new_string: "state",
        replace_all: true,
      }),
    () => one("read", { file_path: "log" }),
    () => one("glob", { pattern: "**/*" }),
    () => one("grep", { pattern: "begun", path: "log" }),
    () => ({
      name: "two at once",
      calls: [
        toolCall("bash", { command: `${log("begun")}; sleep ${ms}; ${log("done")}` }),
        toolCall("read", { file_path: "state" }),
      ],
    }),
  ])();
}

/** Says that the files are there; asked after every round. */
export const CHECK: AnswerBlock = toolCall("bash", { command: "cat name; echo $PWD" });

export function answersOf(round: Round): readonly Answer[] {
  return [answer(...round.calls), answer(CHECK), answer("done")];
}
