import { type Answer, answer, failing, Random, text, thinking, toolCall } from "@drover/testing";

/** What a tool of the campaign does, told by its input. */
export type Deed =
  | "ok"
  | "fail"
  | "huge"
  | "nul"
  | "empty"
  | "slow"
  /** Has the user say something while it runs. */
  | "aside"
  /** Runs until the user interrupts it, which it has them do once nothing else runs beside it. */
  | "hold";

export interface PlannedCall {
  readonly tool: string;
  readonly deed: Deed;
  /** Unlike that of any other call of the session. */
  readonly label: string;
}

/** What the model says to one request of a turn. */
export type ModelStep =
  | { readonly kind: "answer"; readonly name: string; readonly answer: Answer }
  | {
      readonly kind: "calls";
      readonly words: string | undefined;
      readonly calls: readonly PlannedCall[];
    }
  /** Says nothing until the user interrupts. */
  | { readonly kind: "hold" }
  /** Is busy for hours, in which the user interrupts. */
  | { readonly kind: "busy" };

export interface PlannedTurn {
  /** Messages that are sent together. */
  readonly opening: readonly string[];
  /** What the system says behind them. */
  readonly system: string | null;
  /** The user interrupts in the same breath. */
  readonly isInterrupted: boolean;
  readonly steps: readonly ModelStep[];
}

/** A session from its first message to its last answer: the same for the same seed. */
export interface SessionPlan {
  readonly seed: number;
  /** Whether the loop works around weaknesses of models. */
  readonly hasWorkarounds: boolean;
  /** Tokens of the model's window; null for one that no session fills. */
  readonly window: number | null;
  /** Cents; a token of output costs one. */
  readonly budget: number | null;
  readonly turns: readonly PlannedTurn[];
}

const TURNS_MAX = 3;
const STEPS_MAX = 4;
/** Run at once, one after another for `bash`; one that the agent does not have. */
const OWN_TOOLS = ["bash", "read", "write", "read", "forbidden"];
/** Waits for the user's consent, for the client to run it, or for a judge. */
const OTHER_TOOLS = ["ask_delete", "client_look", "auto_send"];
/** What the agent's MCP server has. */
const MCP_TOOLS = ["mcp__wiki__search", "mcp__wiki__edit"];

export function planOf(seed: number): SessionPlan {
  const random = new Random(seed);
  const hasWorkarounds = !random.chance(0.25);
  const window = hasWorkarounds && random.chance(0.3) ? random.int(2_000, 8_000) : null;
  const budget = random.chance(0.2) ? random.int(1, 120) : null;
  const turns = Array.from({ length: random.int(1, TURNS_MAX) }, (_, turn) =>
    plannedTurn(random, turn),
  );
  return { seed, hasWorkarounds, window, budget, turns };
}

/** True if what happens depends on what its tools do while they run. */
export function reactsToTools(plan: SessionPlan): boolean {
  return plan.turns.some(({ steps }) =>
    steps.some(
      (step) =>
        step.kind === "calls" && step.calls.some(({ deed }) => deed === "aside" || deed === "hold"),
    ),
  );
}

function plannedTurn(random: Random, turn: number): PlannedTurn {
  const opening = Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, (_, index) =>
    index === 0 ? turnMarker(turn) : `and ${index} more`,
  );
  const system = random.chance(0.2) ? `the system has a word on turn ${turn}` : null;
  const isInterrupted = random.chance(0.06);
  const steps: ModelStep[] = Array.from({ length: random.int(0, STEPS_MAX) }, (_, step) =>
    plannedStep(random, `t${turn}s${step}`),
  );
  const end = random.next();
  if (end < 0.08) steps.push({ kind: "hold" });
  else if (end < 0.14) steps.push({ kind: "busy" });
  else if (end < 0.26) steps.push(heldCalls(random, `t${turn}h`));
  return { opening, system, isInterrupted, steps };
}

/** The text that tells which turn of the plan is meant. */
export function turnMarker(turn: number): string {
  return `turn ${turn} begins`;
}

function plannedStep(random: Random, label: string): ModelStep {
  const kind = random.next();
  if (kind < 0.55) {
    const deeds: readonly Deed[] = [
      "ok",
      "ok",
      "ok",
      "slow",
      "fail",
      "huge",
      "nul",
      "empty",
      "aside",
    ];
    const tools = random.chance(0.35) ? [...OWN_TOOLS, ...OTHER_TOOLS, ...MCP_TOOLS] : OWN_TOOLS;
    return calls(random, label, { count: random.pick([1, 1, 2, 3, 4]), tools, deeds });
  }
  if (kind < 0.8) return fault(random);
  return oddAnswer(random);
}

function heldCalls(random: Random, label: string): ModelStep {
  const deeds = ["ok", "slow", "fail"] as const;
  const step = calls(random, label, { count: random.int(0, 3), tools: OWN_TOOLS, deeds });
  if (step.kind !== "calls") return step;
  const tool = random.pick(["bash", "read"]);
  const held: PlannedCall = { tool, deed: "hold", label: `${label}hold` };
  return { ...step, calls: random.shuffled([...step.calls, held]) };
}

function calls(
  random: Random,
  label: string,
  { count, tools, deeds }: { count: number; tools: readonly string[]; deeds: readonly Deed[] },
): ModelStep {
  const planned = Array.from({ length: count }, (_, index): PlannedCall => {
    const tool = random.pick(tools);
    return { tool, deed: random.pick(deeds), label: `${label}c${index}` };
  });
  return {
    kind: "calls",
    words: random.chance(0.5) ? `words of ${label}` : undefined,
    calls: planned,
  };
}

/** What goes wrong on the way to an answer. */
function fault(random: Random): ModelStep {
  const after = { afterEvents: random.int(1, 6) };
  const words = [
    thinking("hm"),
    text("This will be cut."),
    toolCall("bash", { deed: "ok", label: "cut" }),
  ];
  const faults: Readonly<Record<string, Answer>> = {
    overloaded: failing({ type: "status", status: 529, error_type: "overloaded_error" }),
    broken: failing({ type: "status", status: 500, error_type: "api_error" }),
    refused: failing({ type: "status", status: 403, error_type: "permission_error" }),
    limited: failing({
      type: "status",
      status: 429,
      error_type: "rate_limit_error",
      headers: { "retry-after": String(random.int(1, 500)) },
    }),
    reset: failing({ type: "reset" }),
    ended: failing({ type: "end", ...after }, ...words),
    cut: failing({ type: "cut", ...after }, ...words),
    garbage: failing({ type: "garbage", ...after }, ...words),
    error_event: failing(
      { type: "error_event", error_type: "overloaded_error", ...after },
      ...words,
    ),
  };
  const name = random.pick(
    Object.keys(faults).filter((each) => each !== "refused" || random.chance(0.3)),
  );
  return { kind: "answer", name, answer: faults[name] ?? answer() };
}

/** What models say that is not quite an answer. */
function oddAnswer(random: Random): ModelStep {
  const answers: Readonly<Record<string, Answer>> = {
    plain: answer(thinking("Easy."), text("An answer."), text("And more.")),
    empty: answer(),
    blank: answer(text(" \n")),
    "only thinking": answer(thinking("What now?")),
    refusal: { ...answer(text("I will not")), stop_reason: "refusal" },
    paused: { ...answer(text("One moment.")), stop_reason: "pause_turn" },
    "cut off": { ...answer(text("And then the")), stop_reason: "max_tokens" },
    "call cut off": {
      content: [{ type: "tool_use", name: "bash", input: {}, inputJson: '{"deed":"ok","lab' }],
      stop_reason: "max_tokens",
    },
    "no JSON": {
      content: [{ type: "tool_use", name: "read", input: {}, inputJson: '{"deed": nonsense' }],
    },
    "words behind a call": answer(toolCall("read", { deed: "ok" }), text("Afterwards.")),
  };
  const name = random.pick(Object.keys(answers));
  return { kind: "answer", name, answer: answers[name] ?? answer() };
}

/** What the agent has. */
export const OFFERED_TOOLS = ["bash", "read", "write", ...OTHER_TOOLS];

/** Its MCP server, whose tools run at once or wait for the user's consent. */
export const MCP = {
  agent: {
    tools: [
      {
        ...{ type: "mcp_toolset", mcp_server_name: "wiki" },
        default_config: { enabled: true, permission_policy: { type: "always_ask" } },
        configs: [{ name: "search", enabled: true, permission_policy: { type: "always_allow" } }],
      },
    ],
    mcp_servers: [{ type: "url", name: "wiki", url: "https://wiki.test/mcp" }],
  },
  serve: () => ({
    tools: ["search", "edit"].map((name) => {
      return { name, description: name, input_schema: { type: "object" as const } };
    }),
  }),
};
