import { setTimeout as pause } from "node:timers/promises";

const LOOK_MS = 25;
const GIVE_UP_MS = 90_000;

/** What `look` finds, once it finds something. Rejects, naming `what`, when that takes too long. */
export async function until<T>(
  what: string | (() => string),
  look: () => Promise<T | undefined> | T | undefined,
) {
  const giveUpAt = performance.now() + GIVE_UP_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > giveUpAt) {
      throw new Error(`waited too long for ${typeof what === "string" ? what : what()}`);
    }
    await pause(LOOK_MS);
  }
}
