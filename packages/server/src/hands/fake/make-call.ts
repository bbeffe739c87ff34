import type { HandCall } from "../../core/ports/hands.ts";

/** A call with ids of its own, as a test changes it. */
export function makeCall(changes: Partial<HandCall> = {}): HandCall {
  return {
    workspaceId: "wrkspc_1",
    sessionId: "sesn_1",
    callId: "sevt_1",
    handId: "hand_1",
    handsBoot: "boot_1@inst_1",
    epoch: 1,
    name: "bash",
    input: { command: "true" },
    recipe: {
      provider: "bubblewrap",
      base: { type: "host" },
      mounts: [],
      network: { type: "none" },
    },
    ...changes,
  };
}
