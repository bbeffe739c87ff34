import type { SessionEvent } from "./session-watch.ts";

/** When the server was dead, in milliseconds since 1970. */
export interface Outage {
  readonly from: number;
  readonly to: number;
}

export interface RunOnce {
  /** Whether everything below says that the command ran exactly once. */
  readonly isProved: boolean;
  /** In sentences, for the transcript. */
  readonly findings: readonly string[];
}

/**
 * What the log and the command's own output say about how often the command ran that was going on
 * when the server was killed. Both are read; neither is assumed.
 */
export function proveRunOnce(
  events: readonly SessionEvent[],
  callId: string,
  outage: Outage,
): RunOnce {
  const uses = events.filter((event) => event.type === "agent.tool_use" && event.id === callId);
  const results = events.filter(
    (event) => event.type === "agent.tool_result" && event.tool_use_id === callId,
  );
  const batches = batchLines(textOf(results[0]));
  const numbers = new Set(batches.map(({ batch }) => batch));
  const meanwhile = batches.filter(({ at }) => isWithin(outage, at));
  const findings = [
    `The log has this call ${times(uses.length)} and its result ${times(results.length)}.`,
  ];
  if (batches.length > 0) {
    findings.push(
      `The command itself counted ${batches.length} batches, ${numbers.size} different ones, ${meanwhile.length} of them while no server was alive.`,
    );
  }
  const isProved = uses.length === 1 && results.length === 1 && numbers.size === batches.length;
  return { isProved, findings };
}

/** What is to be said after a line of a command's output that was printed while no server lived. */
export function remarkOn(line: string, outage: Outage | undefined): string | undefined {
  const [batch] = batchLines(line);
  if (batch === undefined || outage === undefined || !isWithin(outage, batch.at)) return undefined;
  return "← no server was alive";
}

function isWithin(outage: Outage, atSeconds: number): boolean {
  return atSeconds * 1000 >= outage.from && atSeconds * 1000 <= outage.to;
}

/** The text blocks of a tool result or message, joined. */
export function textOf(event: SessionEvent | undefined): string {
  if (event === undefined || !("content" in event)) return "";
  const blocks = event.content ?? [];
  return blocks.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join("\n");
}

/** `batch 7 at 1790000000.5: …`, as the assignment asks for; `at` in seconds since 1970. */
function batchLines(text: string): { batch: string; at: number }[] {
  return [...text.matchAll(/^batch (\d+) at (\d+(?:\.\d+)?)/gm)].map(([, batch = "", at = ""]) => ({
    batch,
    at: Number(at),
  }));
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
