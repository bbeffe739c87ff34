import type { HandCall } from "../core/ports/hands.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { DriveDeps } from "./deps.ts";

/** What is to be called, with all that goes along with it. */
type MakeCall = (
  call: Pick<HandCall, "callId" | "handId" | "handsBoot" | "name" | "input">,
) => Promise<HandCall>;

/**
 * For the benchmark only: makes a session's sandbox before its model is first asked, as a server does that
 * has no sessions without sandboxes. What Drover does by itself is compared with it.
 */
export class SandboxFirst {
  readonly #made = new Set<string>();

  async make(
    session: SessionRecord,
    { hands, newId }: Pick<DriveDeps, "hands" | "newId">,
    makeCall: MakeCall,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#made.has(session.id)) return;
    this.#made.add(session.id);
    const { hand_id: handId, hands_boot: handsBoot } = await hands.locate(session.hand_id, signal);
    const command = { name: "bash", input: { command: "true" } };
    const call = await makeCall({ ...command, callId: newId("sevt"), handId, handsBoot });
    const outcome = await hands.execute(call, signal);
    if (outcome.type !== "result" || outcome.is_error) {
      throw new Error(`the sandbox could not be made first: ${JSON.stringify(outcome)}`);
    }
    await hands.settle(call);
  }
}
