import type { Random } from "@drover/testing";

/** Who answers for the agent: the strict double of the Messages API, or the built-in scripted model. */
export type ModelId = "claude-opus-5-5" | "offline/script";

/** What a client does in one turn. */
export interface Turn {
  /** Unique; the marks of its messages and commands begin with it. */
  readonly mark: string;
  readonly messages: readonly Message[];
  /** Milliseconds after the last message at which the client interrupts. */
  readonly interruptMs?: number;
}

export interface Message {
  readonly mark: string;
  readonly text: string;
  /** Milliseconds to wait before it is sent. */
  readonly afterMs: number;
}

interface Call {
  readonly name: "bash" | "read" | "write";
  readonly input: Readonly<Record<string, string>>;
}

interface Step {
  readonly say: string;
  readonly calls: readonly Call[];
  readonly waitMs: number;
}

/** Where the commands leave their lines, in the sandbox. */
const LINES = "/workspace/lines";
const OUTPUTS = "/mnt/session/outputs";

type Kind = "commands" | "parallel" | "outputs" | "interrupted" | "steered";
const KINDS: readonly Kind[] = [
  "commands",
  "commands",
  "parallel",
  "outputs",
  "interrupted",
  "interrupted",
  "steered",
];

export function newTurn(mark: string, model: ModelId, random: Random): Turn {
  const kind = random.pick(KINDS);
  const message = (name: string, steps: readonly Step[], afterMs = 0): Message => {
    return { mark: `${mark}${name}`, text: textFor(`${mark}${name}`, steps, model), afterMs };
  };
  const steps = (name: string) => stepsOf(kind, `${mark}${name}`, random);
  if (kind === "steered") {
    return { mark, messages: [message("a", steps("a")), message("b", steps("b"), 300)] };
  }
  if (kind !== "interrupted") return { mark, messages: [message("a", steps("a"))] };
  const messages = [message("a", steps("a"))];
  return { mark, messages, interruptMs: random.int(100, 1_200) };
}

function stepsOf(kind: Kind, mark: string, random: Random): readonly Step[] {
  const step = (number: number, calls: readonly Call[]): Step => {
    return { say: `${mark}, step ${number}`, calls, waitMs: random.int(0, 120) };
  };
  const command = (name: string, ms: number) => markingCommand(`${mark}-${name}`, ms);
  const short = () => random.int(20, 250);
  const end = { say: `${mark}, done`, calls: [], waitMs: 0 };
  switch (kind) {
    case "commands":
    case "steered":
      return [step(1, [command("1", short())]), step(2, [command("2", short())]), end];
    case "parallel": {
      const path = `/workspace/${mark}.txt`;
      const calls = [
        command("1", short()),
        write(path, mark),
        command("2", short()),
        write(`${path}.2`, mark),
      ];
      return [step(1, calls), step(2, [read(path), command("3", short())]), end];
    }
    case "outputs":
      return [
        step(1, [write(`${OUTPUTS}/${mark}.txt`, mark), command("1", short())]),
        step(2, [command("2", short()), write(`${OUTPUTS}/${mark}.2.txt`, mark)]),
        end,
      ];
    case "interrupted":
      return [step(1, [command("1", 100)]), step(2, [command("2", 5_000)]), end];
  }
}

/** Adds one line, its mark and the time, after a while: so that it may be killed before and after. */
function markingCommand(mark: string, ms: number): Call {
  const line = `echo "${mark} $EPOCHREALTIME" >> ${LINES}`;
  return { name: "bash", input: { command: `sleep ${ms / 1000}; ${line}` } };
}

function write(path: string, content: string): Call {
  return { name: "write", input: { file_path: path, content } };
}

function read(path: string): Call {
  return { name: "read", input: { file_path: path } };
}

/** The mark of a command that adds a line. */
export function markOf(command: string): string | undefined {
  return /echo "(\S+) /.exec(command)?.[1];
}

function textFor(mark: string, steps: readonly Step[], model: ModelId): string {
  const told = `Message ${mark}.`;
  if (model === "offline/script") {
    return [told, "```drover-script", JSON.stringify(steps.map(offlineStep)), "```"].join("\n");
  }
  return `${told}\n#script ${JSON.stringify(steps.map(doubleAnswer))}`;
}

function offlineStep({ say, calls, waitMs }: Step) {
  const parallel = calls.map(({ name, input }) => ({ tool: name, input, judge: "allow" }));
  return { say, wait_ms: waitMs, ...(parallel.length > 0 && { think: `On ${say}.`, parallel }) };
}

function doubleAnswer({ say, calls, waitMs }: Step) {
  const content = [
    { type: "thinking", thinking: `On ${say}.` },
    { type: "text", text: say },
    ...calls.map(({ name, input }) => ({ type: "tool_use", name, input })),
  ];
  return { content, pacing: { firstMs: waitMs } };
}
