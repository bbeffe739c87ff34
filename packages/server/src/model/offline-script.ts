import { parse } from "yaml";
import { z } from "zod";

const MAX_SCRIPT_CHARS = 256 * 1024;
const MAX_STEPS = 500;
const MAX_PARALLEL = 32;
const MAX_DELAY_MS = 60_000;
const MAX_WAIT_MS = 60 * 60_000;
/** Scripts kept as they were read: each response of a session reads its script anew. */
const MAX_KEPT = 16;
const FENCE = /^\s*(`{3,})drover-script\s*$/;
/** Words that templates use themselves. */
const RESERVED = ["result", "user"];

/** A script that cannot be followed; the message is a sentence for its author. */
export class ScriptError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = "ScriptError";
  }
}

const Name = z
  .string()
  .regex(/^[a-z][a-z0-9_]*$/, "must be of small letters, digits and underscores")
  .refine((name) => !RESERVED.includes(name), "is a word of templates; take another name");

const Call = z.strictObject({
  tool: z.string().min(1),
  input: z.record(z.string(), z.json()).default({}),
  as: Name.optional(),
  judge: z.enum(["allow", "ask", "deny"]).optional(),
});

const Delay = z.int().min(0).max(MAX_DELAY_MS);

const Step = z
  .strictObject({
    think: z.string().min(1).optional(),
    say: z.string().min(1).optional(),
    ...Call.partial().omit({ input: true }).shape,
    input: z.record(z.string(), z.json()).optional(),
    parallel: z.array(Call).min(1).max(MAX_PARALLEL).optional(),
    fail: z
      .enum([
        "overloaded",
        "rate_limited",
        "billing",
        "connection",
        "request_failed",
        "prompt_too_long",
      ])
      .optional(),
    times: z.int().min(1).optional(),
    stop_reason: z.string().min(1).optional(),
    delay_ms: Delay.optional(),
    wait_ms: z.int().min(0).max(MAX_WAIT_MS).optional(),
  })
  .refine(
    (step) => step.tool !== undefined || (step.input ?? step.as ?? step.judge) === undefined,
    {
      message: "has input, as or judge, but no tool",
    },
  )
  .refine((step) => step.tool === undefined || step.parallel === undefined, {
    message: "has both tool and parallel; put every call into parallel",
  })
  .refine((step) => step.times === undefined || step.fail !== undefined, {
    message: "has times, but no fail",
  })
  .refine(
    (step) => [step.say, step.tool, step.parallel, step.fail].some((it) => it !== undefined),
    {
      message: "does nothing; give it say, tool, parallel or fail",
    },
  );

const Steps = z.array(Step).min(1).max(MAX_STEPS);
const Script = z.union([
  Steps.transform((steps) => ({ steps, delay_ms: 0, window_tokens: undefined })),
  z.strictObject({
    steps: Steps,
    delay_ms: Delay.default(0),
    window_tokens: z.int().min(1_000).optional(),
  }),
]);

type ScriptCall = z.output<typeof Call>;

/** One response of the model. */
export interface ScriptStep {
  readonly think: string | undefined;
  readonly say: string | undefined;
  readonly calls: readonly ScriptCall[];
  readonly fail: z.output<typeof Step>["fail"];
  /** How often `fail` happens before the step is answered; undefined: every time. */
  readonly times: number | undefined;
  readonly stopReason: string | undefined;
  /** A longer prompt is refused. */
  readonly windowTokens: number | undefined;
  /** Before each token. */
  readonly delayMs: number;
  /** Before the response begins. */
  readonly waitMs: number;
}

/**
 * The last fenced block of a text that is a script, without its fence, and the text without such
 * blocks. The fence may be longer than three backticks, for a script that has fences in it.
 * Throws `ScriptError` if a fence is never closed.
 */
export function takeScript(text: string): { script: string | undefined; rest: string } {
  let script: string | undefined;
  let open: { fence: string; lines: string[] } | undefined;
  const rest: string[] = [];
  for (const line of text.split("\n")) {
    const fence = open === undefined ? FENCE.exec(line)?.[1] : undefined;
    if (fence !== undefined) {
      open = { fence, lines: [] };
    } else if (open === undefined) {
      rest.push(line);
    } else if (line.trim() === open.fence) {
      script = open.lines.join("\n");
      open = undefined;
    } else {
      open.lines.push(line);
    }
  }
  if (open === undefined) return { script, rest: rest.join("\n").trim() };
  throw new ScriptError(`The drover-script block is not closed: it needs a line ${open.fence}.`);
}

const kept = new Map<string, readonly ScriptStep[]>();

/** Reads a script, YAML or JSON. Throws `ScriptError` with the place of what is wrong. */
export function parseScript(text: string): readonly ScriptStep[] {
  const steps = kept.get(text) ?? readScript(text);
  kept.delete(text);
  kept.set(text, steps);
  const [oldest] = kept.keys();
  if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
  return steps;
}

function readScript(text: string): readonly ScriptStep[] {
  if (text.length > MAX_SCRIPT_CHARS) {
    throw new ScriptError(`The script is longer than ${MAX_SCRIPT_CHARS} characters.`);
  }
  const parsed = readYaml(text);
  // A list and an object are two forms of one thing; the union alone would say nothing useful.
  const form = Array.isArray(parsed) ? Script.options[0] : Script.options[1];
  const result = form.safeParse(parsed);
  if (!result.success) throw new ScriptError(`The script is not right: ${issuesOf(result.error)}.`);
  const { steps, delay_ms, window_tokens } = result.data;
  return steps.map((step) => ({
    think: step.think,
    say: step.say,
    calls: step.parallel ?? single(step),
    fail: step.fail,
    times: step.times,
    stopReason: step.stop_reason,
    windowTokens: window_tokens,
    delayMs: step.delay_ms ?? delay_ms,
    waitMs: step.wait_ms ?? 0,
  }));
}

function single({ tool, input = {}, as, judge }: z.output<typeof Step>): readonly ScriptCall[] {
  if (tool === undefined) return [];
  return [{ tool, input, ...(as !== undefined && { as }), ...(judge !== undefined && { judge }) }];
}

function readYaml(text: string): unknown {
  try {
    // No aliases: a few of them can stand for more text than there is memory.
    return parse(text, { maxAliasCount: 0, logLevel: "error" });
  } catch (cause) {
    const message = cause instanceof Error ? cause.message.split("\n")[0] : String(cause);
    throw new ScriptError(`The script is not YAML: ${message}`, { cause });
  }
}

function issuesOf(error: z.ZodError): string {
  return error.issues
    .slice(0, 3)
    .map((issue) => `${placeOf(issue.path)} ${lowerFirst(issue.message)}`.trim())
    .join("; ");
}

/** `steps.2.say` reads as "step 3, say": authors count from one. */
function placeOf(path: readonly PropertyKey[]): string {
  const [head, ...rest] = path[0] === "steps" && path.length > 1 ? path.slice(1) : path;
  const place = typeof head === "number" ? `step ${head + 1}` : String(head ?? "");
  return [place, ...rest.map(String)].filter((part) => part !== "").join(", ");
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}
