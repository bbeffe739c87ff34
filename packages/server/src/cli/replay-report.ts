import { z } from "zod";
import { oneLine } from "../core/harness/one-line.ts";

const TEXT_SHOWN_MAX = 160;

const Pair = <T extends z.ZodType>(of: T) => z.object({ recorded: of, replayed: of });
const Tokens = z.object({ input_tokens: z.number(), output_tokens: z.number() });
const Calls = z.array(z.object({ name: z.string(), input: z.string() }));

const Compared = z.object({
  type: z.literal("replay.request"),
  outcome: z.literal("compared"),
  event_id: z.string(),
  same: z.boolean(),
  text: Pair(z.string()).extend({ same: z.boolean(), similarity: z.number() }),
  tool_calls: Pair(Calls).extend({ same: z.boolean() }),
  latency_ms: Pair(z.number()),
});
const Failed = z.object({
  type: z.literal("replay.request"),
  outcome: z.literal("failed"),
  event_id: z.string(),
  error: z.object({ message: z.string() }),
});
const Summary = z.object({
  type: z.literal("replay.summary"),
  model: z.string(),
  requests: z.object({
    asked: z.number(),
    same: z.number(),
    same_tool_calls: z.number(),
    failed: z.number(),
  }),
  usage: Pair(Tokens),
  stopped: z.enum(["max_requests", "failures"]).nullable(),
});
const Line = z.union([Compared, Failed, Summary]);

type Compared = z.infer<typeof Compared>;
type Summary = z.infer<typeof Summary>;

/** A line of a replay's report for people to read. What models said is kept to a line and its characters. */
export function replayText(json: string): string {
  const line = Line.parse(JSON.parse(json));
  if (line.type === "replay.summary") return summaryText(line);
  if (line.outcome === "failed") return `${line.event_id}  failed: ${shown(line.error.message)}`;
  return comparedText(line);
}

/** True for the last line, without which a report was cut off. */
export function isSummary(json: string): boolean {
  return Summary.safeParse(JSON.parse(json)).success;
}

function comparedText({ event_id, same, text, tool_calls, latency_ms }: Compared): string {
  const times = `${seconds(latency_ms.recorded)} -> ${seconds(latency_ms.replayed)}`;
  if (same) return `${event_id}  the same  (${times})`;
  const calls = tool_calls.same ? "same calls" : "other calls";
  const words = text.same
    ? "same text"
    : `other text, ${Math.round(text.similarity * 100)} % of the words shared`;
  return [
    `${event_id}  ${calls}, ${words}  (${times})`,
    ...(text.same ? [] : both(text.recorded, text.replayed)),
    ...(tool_calls.same
      ? []
      : both(callsText(tool_calls.recorded), callsText(tool_calls.replayed))),
  ].join("\n");
}

function summaryText({ model, requests, usage, stopped }: Summary): string {
  const { asked, same, same_tool_calls, failed } = requests;
  const why =
    stopped === null
      ? []
      : [
          stopped === "failures"
            ? "Stopped: the model could not be had."
            : "Stopped: there are more requests; --max asks more of them.",
        ];
  return [
    "",
    `${model} was asked ${asked} times: ${same} the same, ${same_tool_calls} with the same tool calls, ${failed} failed.`,
    `Tokens: ${tokens(usage.recorded)} recorded, ${tokens(usage.replayed)} now.`,
    ...why,
  ].join("\n");
}

function both(recorded: string, replayed: string): readonly string[] {
  return [`  recorded: ${shown(recorded)}`, `  now:      ${shown(replayed)}`];
}

function callsText(calls: z.infer<typeof Calls>): string {
  if (calls.length === 0) return "no call";
  return calls.map(({ name, input }) => `${name} ${input}`).join("; ");
}

function shown(text: string): string {
  return oneLine(text, TEXT_SHOWN_MAX);
}

function tokens({ input_tokens, output_tokens }: z.infer<typeof Tokens>): string {
  return `${input_tokens} in and ${output_tokens} out`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
