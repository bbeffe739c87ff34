import type { Answer } from "../../../packages/testing/src/index.ts";
import { nowMs } from "../lib/clock.ts";
import type { HostShell } from "../lib/host-shell.ts";
import { runTurn, type Sessions } from "../lib/sessions.ts";

export const NAP = "sleep 0.05";
const SAY: Answer = { content: [{ type: "text", text: "Done." }] };
const ANSWERS: readonly Answer[] = [bash("true"), bash("true"), bash(NAP), SAY];

/** Milliseconds. */
export interface Times {
  readonly cold: number;
  readonly warm: number;
  readonly nap: number;
  /** The same two commands in a bash of the host. */
  readonly ownTrue: number;
  readonly ownNap: number;
}

/** From a tool use to its result, as the client sees it: in a new sandbox, and then in the live one. */
export async function timeCommands(
  sessions: Sessions,
  shell: HostShell,
  { id, label }: { id: string; label: string },
): Promise<Times> {
  const used: number[] = [];
  const took: number[] = [];
  await runTurn(sessions, id, { label, answers: ANSWERS }, (event) => {
    if (event.type === "agent.tool_use") used.push(nowMs());
    if (event.type !== "agent.tool_result") return;
    if (event.is_error === true) throw new Error(`a command failed: ${JSON.stringify(event)}`);
    took.push(nowMs() - (used.at(-1) ?? Number.NaN));
  });
  const [cold = Number.NaN, warm = Number.NaN, nap = Number.NaN] = took;
  return { cold, warm, nap, ownTrue: await shell.time("true"), ownNap: await shell.time(NAP) };
}

function bash(command: string): Answer {
  return { content: [{ type: "tool_use", name: "bash", input: { command } }] };
}
