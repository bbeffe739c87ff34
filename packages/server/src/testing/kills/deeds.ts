import { setImmediate } from "node:timers/promises";
import type { SessionKey } from "../../core/ports/event-log.ts";
import type { HandCall } from "../../core/ports/hands.ts";
import { calledTool, isToolUse } from "../../core/session/called-tool.ts";
import type { LogEvent } from "../../core/session/log-event.ts";
import { isSerialTool } from "../../core/tools/serial.ts";
import type { MemoryToolAnswer } from "../../hands/fake/memory-hands.ts";
import { Wakeup } from "../../lib/wakeup.ts";
import type { BrainWorld } from "../brain.ts";
import { answeredBy, isToolResult } from "../log-rules.ts";
import type { User } from "./user.ts";

const HUGE_CHARS = 40_000;
const SLOW_TURNS = 8;

interface World {
  readonly brain: BrainWorld;
  readonly key: SessionKey;
  readonly user: User;
  /** The labels of all that was done, for whoever wants to know that nothing was done twice. */
  readonly deeds: string[];
}

/** Does what the input of a call asks for; see `Deed`. */
export async function doDeed(
  call: HandCall,
  signal: AbortSignal,
  world: World,
): Promise<MemoryToolAnswer> {
  const { deed, label } = call.input;
  if (typeof label === "string") world.deeds.push(label);
  const done = `${String(label)} is done`;
  switch (deed) {
    case "fail":
      throw new Error(`${String(label)} failed`);
    case "huge":
      return "x".repeat(HUGE_CHARS);
    case "nul":
      return `${done}\0 \ud800`;
    case "empty":
      return "";
    case "slow":
      for (let turn = 0; turn < SLOW_TURNS; turn++) await setImmediate();
      return done;
    case "aside":
      await world.user.say(`by the way, ${String(label)}`);
      return done;
    case "hold":
      return await hold(call, signal, world);
    default:
      return done;
  }
}

/** Runs until it is ended, and has the user interrupt once nothing else is going on. */
async function hold(
  call: HandCall,
  signal: AbortSignal,
  { brain, key, user }: World,
): Promise<string> {
  const doorbell = new Wakeup();
  const ring = () => doorbell.notify();
  const unsubscribe = brain.announcements.subscribe(key.sessionId, ring);
  signal.addEventListener("abort", ring, { once: true });
  while (!signal.aborted && !runsAlone(call, await brain.log(key))) await doorbell.wait();
  unsubscribe();
  if (!signal.aborted) await user.interruptOnce(call.callId);
  while (!signal.aborted) await doorbell.wait();
  return "ended";
}

/** True once each other call of the response has a result, or waits for this one. */
function runsAlone(call: HandCall, log: readonly LogEvent[]): boolean {
  const own = log.find(({ id }) => id === call.callId);
  const request = own !== undefined && isToolUse(own) ? own.private.request : "";
  return log.every((event) => {
    if (!isToolUse(event) || event.private.request !== request) return true;
    const waits =
      isSerialTool(calledTool(event)) && isSerialTool(call.name) && event.seq >= (own?.seq ?? 0);
    return event.id === call.callId || waits || hasResult(event.id, log);
  });
}

function hasResult(callId: string, log: readonly LogEvent[]): boolean {
  return log.some((event) => isToolResult(event) && answeredBy(event) === callId);
}
