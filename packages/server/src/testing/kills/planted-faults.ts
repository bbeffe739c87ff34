import type { Hands } from "../../core/ports/hands.ts";
import type { Model, ModelBlock, ModelMessage } from "../../core/ports/model.ts";
import type { MemoryHands } from "../../hands/fake/memory-hands.ts";

/** A mistake that the campaign has to find; without a death it makes no difference. */
export interface PlantedFault {
  /** Appends are taken of whoever appends, with or without the lease. */
  readonly ignoresFence?: boolean;
  /** A process does not end the leases of the one before it. */
  readonly keepsLeases?: boolean;
  readonly hands?: (hands: MemoryHands) => Hands;
  readonly model?: (model: Model) => Model;
}

export const PLANTED_FAULTS: Readonly<Record<string, PlantedFault>> = {
  "the fence": { ignoresFence: true },
  "the take-over of leases": { keepsLeases: true },
  "the journal of the hands": { hands: forgetfulHands },
  "the journal of the log": { hands: resendingHands },
  "results are kept until they are committed": { hands: hastyHands },
  "calls of dead hands are answered": { model: modelWithoutLost },
};

/** Runs a call each time that it is sent, but for what it was told to end. */
function forgetfulHands(hands: MemoryHands): Hands {
  const sent: string[] = [];
  const cancelled: string[] = [];
  return {
    ...portOf(hands),
    cancel: (call) => {
      cancelled.push(call.callId);
      return hands.cancel(call);
    },
    execute: (call, signal) => {
      const isKnown = sent.includes(call.callId) && !cancelled.includes(call.callId);
      sent.push(call.callId);
      const callId = isKnown ? `${call.callId} ${sent.length}` : call.callId;
      return hands.execute({ ...call, callId }, signal);
    },
  };
}

/** Sends what dead hands had to those that live. */
function resendingHands(hands: MemoryHands): Hands {
  return {
    ...portOf(hands),
    execute: (call, signal) =>
      hands.execute({ ...call, handsBoot: hands.boot ?? call.handsBoot }, signal),
  };
}

/** Says that a result is committed as soon as it is there. */
function hastyHands(hands: MemoryHands): Hands {
  return {
    ...portOf(hands),
    execute: async (call, signal) => {
      const outcome = await hands.execute(call, signal);
      await hands.settle(call);
      return outcome;
    },
  };
}

/** Leaves calls without an answer whose hands died. */
function modelWithoutLost(model: Model): Model {
  const isKept = (block: ModelBlock) => !JSON.stringify(block).includes("Whether it took effect");
  const kept = ({ role, content }: ModelMessage) => ({ role, content: content.filter(isKept) });
  return {
    respond: (request, observer, signal) =>
      model.respond({ ...request, messages: request.messages.map(kept) }, observer, signal),
  };
}

function portOf(hands: Hands): Hands {
  return {
    locate: (handId, signal) => hands.locate(handId, signal),
    execute: (call, signal, takeOutputs) => hands.execute(call, signal, takeOutputs),
    recover: (hand, signal) => hands.recover(hand, signal),
    settleOutputs: (handId, outputs) => hands.settleOutputs(handId, outputs),
    cancel: (call) => hands.cancel(call),
    settle: (call) => hands.settle(call),
    dispose: (handId) => hands.dispose(handId),
  };
}
