import { gatherCrowd } from "../lib/crowd.ts";
import { atMost, mean, type Section } from "../lib/measurement.ts";
import type { World } from "../lib/world.ts";

/** Thousands of sessions at once inside an answer of a model in the same process. */
export async function measureCrowd(world: World): Promise<Section> {
  const { sessions, answerMs } = world.plan.crowd;
  const crowd = await gatherCrowd({ folder: world.newDataFolder("crowd"), sessions, answerMs });
  if (!crowd.wereInside) throw new Error("the first answers were over before the last were asked");
  const n = sessions;
  const overMs = crowd.allAnsweredMs - crowd.allAskedMs - answerMs;
  return {
    title: `${n.toLocaleString("en")} sessions at once inside an answer of ${answerMs / 1000} s`,
    measurements: [
      mean(
        { name: "heap a session", unit: "KB", goals: [atMost("p50", 64)] },
        n,
        crowd.heapBytes / 1024,
      ),
      mean({ name: "· resident", unit: "KB" }, n, crowd.residentBytes / 1024),
      mean(
        { name: "all messages sent → the model is asked by all", unit: "ms" },
        n,
        crowd.allAskedMs,
      ),
      mean({ name: "the last answer is there → all are idle", unit: "ms" }, n, Math.max(0, overMs)),
      mean(
        { name: "loop delay p99 while they wait", unit: "ms", goals: [atMost("p50", 50)] },
        n,
        crowd.delayMs.answering,
      ),
      mean({ name: "· while they are taken up", unit: "ms" }, n, crowd.delayMs.asking),
      mean({ name: "· while they end", unit: "ms" }, n, crowd.delayMs.ending),
    ],
    notes: [
      "The product's own scheduler and store (a file, each commit synced) in one process, from the sources; the model is a function there that says a word a second, the hands are in memory. Each session has had a turn before. Memory is what it grew by while all were waiting, after a collection of garbage; the loop's delay is measured every millisecond, which the delay itself contains. Everything is measured once for all sessions together: no percentiles.",
    ],
  };
}
