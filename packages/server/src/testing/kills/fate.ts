import { Random } from "@drover/testing";

/** What else goes wrong, or is sent, at some step of the first process. */
export type Mishap = "hands die" | "hands are away" | "disk is full" | "interrupt" | "message";

/** What befalls one play of a session: which processes die when, and what else happens. */
export interface Fate {
  /** The steps at which processes die, one after another; each counts its own, from 1. */
  readonly deaths: readonly { readonly at: number; readonly takesHands: boolean }[];
  /** The first to die was only frozen: it goes on when the one after it has taken so many steps. */
  readonly thawAt?: number;
  readonly mishap?: { readonly at: number; readonly what: Mishap };
}

export const NO_FATE: Fate = { deaths: [] };

/** A process that goes on from a log has not many steps to take before it is where the last one was. */
const NEXT_STEPS = 14;

/** The same for the same seed and number; `trace` has the steps of a play that nothing befalls, by name. */
export function fateOf(seed: number, number: number, trace: readonly string[]): Fate {
  const random = new Random(seed * 7_919 + number * 104_729 + 1);
  const at = stepIn(trace, random);
  const death = { at, takesHands: false };
  const kind = random.next();
  if (kind < 0.4) return { deaths: [death] };
  if (kind < 0.54) return { deaths: [{ at, takesHands: true }] };
  if (kind < 0.68) {
    const more = Array.from({ length: random.int(1, 3) }, () => ({
      at: random.int(1, NEXT_STEPS),
      takesHands: random.chance(0.2),
    }));
    return { deaths: [death, ...more] };
  }
  if (kind < 0.8) return { deaths: [death], thawAt: random.int(1, NEXT_STEPS) };
  const whats: readonly Mishap[] = [
    "hands die",
    "hands are away",
    "disk is full",
    "disk is full",
    "interrupt",
    "message",
  ];
  const mishap = { at: random.int(1, at), what: random.pick(whats) };
  return { deaths: [death], mishap };
}

/** Any step, or one of a kind that may be rare: most steps are writes. */
function stepIn(trace: readonly string[], random: Random): number {
  if (random.chance(0.5)) return random.int(1, trace.length);
  const name = random.pick([...new Set(trace)]);
  return random.pick([...trace.entries()].filter((entry) => entry[1] === name))[0] + 1;
}

/** True if it decides what comes first of two things that nothing else puts in an order. */
export function isRace({ mishap }: Fate): boolean {
  return mishap?.what === "interrupt" || mishap?.what === "message";
}

/** True if calls may have no outcome for want of hands. */
export function losesHands({ deaths, mishap }: Fate): boolean {
  return (
    deaths.some(({ takesHands }) => takesHands) ||
    mishap?.what === "hands die" ||
    mishap?.what === "hands are away"
  );
}
