import { nowMs } from "./clock.ts";

export interface Sampling {
  readonly warmUp: number;
  readonly samples: number;
  /** Sampling ends here, with fewer samples, on a machine too slow for all of them. */
  readonly budgetMs: number;
}

/** One after another. The warm-up's results are dropped. `index` counts from 0 through both. */
export async function sample<T>(
  { warmUp, samples, budgetMs }: Sampling,
  take: (index: number) => Promise<T>,
): Promise<readonly T[]> {
  for (let index = 0; index < warmUp; index += 1) await take(index);
  const taken: T[] = [];
  const endMs = nowMs() + budgetMs;
  while (taken.length < samples && (taken.length === 0 || nowMs() < endMs)) {
    taken.push(await take(warmUp + taken.length));
  }
  return taken;
}

export interface Pair<A, B> {
  readonly a: A;
  readonly b: B;
}

/** A and B in turns, each first every other time, so that neither has the machine's better moments. */
export function samplePairs<A, B>(
  sampling: Sampling,
  takeA: (index: number) => Promise<A>,
  takeB: (index: number) => Promise<B>,
): Promise<readonly Pair<A, B>[]> {
  return sample(sampling, async (index) => {
    if (index % 2 === 0) {
      const a = await takeA(index);
      return { a, b: await takeB(index) };
    }
    const b = await takeB(index);
    return { a: await takeA(index), b };
  });
}
