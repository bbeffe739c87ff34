import type { OpenCall, SessionState, ThreadState } from "../session/state.ts";
import { isSerialTool } from "../tools/serial.ts";
import type { Action, Step } from "./actions.ts";

/** True if the call can go no further before its client has said or done something. */
export function waitsForClient(call: OpenCall): boolean {
  if (call.answered) return false;
  return call.kind === "client" || (call.permission === "ask" && call.confirmation === null);
}

/** True if the call was refused, by its policy or by the user, and has not been told so. */
function isRefused(call: OpenCall): boolean {
  if (call.answered) return false;
  const { permission, confirmation } = call;
  return permission === "deny" || permission === "unavailable" || confirmation?.result === "deny";
}

/** Ids of the calls that wait for the client, in the order of the response. */
export function waitingIds({ calls }: ThreadState): readonly string[] {
  return calls.filter(waitsForClient).map(({ id }) => id);
}

/**
 * What the open calls of a thread need: those that were refused are told so, those that may run are
 * run, serial tools one after another in the order of the response and all others at once. A serial
 * call that waits for its user holds up the serial ones behind it, and no others. When nothing else is
 * left, the thread waits for its client; what it waits for is told once, and again when it is less.
 */
export function callActions(state: SessionState, thread: ThreadState): readonly Action[] {
  const refused = thread.calls.filter(isRefused);
  const runnable = runnableCalls(thread.calls);
  if (refused.length + runnable.length === 0) {
    const isTold = isToldOf(state, thread) && isToldOf(thread, thread);
    return isTold ? [] : append({ type: "require_action" });
  }
  // The client's answer may be the first thing to happen after the thread went idle for it.
  if (thread.status !== "running" || state.status !== "running") return append({ type: "resume" });
  if (refused.length === 0) return runnable.map(callAction);
  return append({ type: "refuse_calls", callIds: refused.map(({ id }) => id) });
}

function runnableCalls(calls: readonly OpenCall[]): readonly OpenCall[] {
  const open = calls.filter((call) => !call.answered);
  const firstSerial = open.find(isSerial);
  return open.filter((call) => {
    return !waitsForClient(call) && !isRefused(call) && (!isSerial(call) || call === firstSerial);
  });
}

function isSerial(call: OpenCall): boolean {
  return call.kind === "hands" && isSerialTool(call.name);
}

function callAction(call: OpenCall): Action {
  if (call.kind === "loop") return { kind: "look_back", id: `call:${call.id}`, callId: call.id };
  return call.started === null
    ? { kind: "start_call", id: `start:${call.id}`, callId: call.id }
    : { kind: "await_call", id: `call:${call.id}`, callId: call.id, ...call.started };
}

/** True if the thread, or its session, is said to be idle for exactly what the thread waits for. */
export function isToldOf(
  { status, blockedOn }: Pick<ThreadState, "status" | "blockedOn">,
  thread: ThreadState,
): boolean {
  const waiting = waitingIds(thread);
  return (
    status === "idle" &&
    blockedOn?.length === waiting.length &&
    waiting.every((id, index) => blockedOn[index] === id)
  );
}

function append(step: Step): readonly Action[] {
  return [{ kind: "append", id: `append:${step.type}`, step }];
}
