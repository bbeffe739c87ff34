import type { Sampling } from "./lib/sampling.ts";

/** How much is measured. The requirement is 200 samples after warm-up. */
export interface Plan {
  readonly isQuick: boolean;
  readonly firstToken: Sampling;
  readonly paced: Sampling & { readonly atOnce: number };
  readonly unpaced: Sampling;
  readonly appends: Sampling;
  readonly sandbox: Sampling;
  /** For each provider of containers. */
  readonly containers: Sampling;
  readonly manySandboxes: { readonly sandboxes: number };
  readonly keptFiles: Sampling;
  readonly kill: Sampling;
  readonly wake: Sampling & { readonly pairs: number; readonly longEvents: number };
  readonly memory: { readonly sessions: number; readonly warmUp: number };
  readonly crowd: { readonly sessions: number; readonly answerMs: number };
  readonly crowdHttp: { readonly sessions: number; readonly answerMs: number };
  readonly turnCost: Sampling;
  readonly sessionList: Sampling & { readonly sessions: number };
  readonly coupled: Sampling;
  readonly secretRequests: Sampling;
  readonly secretDownloads: Sampling;
}

/** Some 14 minutes on two cores; the budgets end a slower one after 18. */
export const FULL: Plan = {
  isQuick: false,
  firstToken: { warmUp: 50, samples: 200, budgetMs: 40_000 },
  // Answers of a round run side by side, as many through Drover as directly and through the relay.
  paced: { warmUp: 1, samples: 40, atOnce: 5, budgetMs: 240_000 },
  unpaced: { warmUp: 20, samples: 200, budgetMs: 80_000 },
  appends: { warmUp: 20, samples: 200, budgetMs: 30_000 },
  sandbox: { warmUp: 5, samples: 200, budgetMs: 80_000 },
  containers: { warmUp: 3, samples: 200, budgetMs: 40_000 },
  manySandboxes: { sandboxes: 50 },
  keptFiles: { warmUp: 1, samples: 5, budgetMs: 60_000 },
  kill: { warmUp: 2, samples: 200, budgetMs: 140_000 },
  // A sample is one start of the server, in which each pair is woken once.
  wake: { warmUp: 1, samples: 50, pairs: 4, longEvents: 100_000, budgetMs: 60_000 },
  memory: { sessions: 1_000, warmUp: 1_500 },
  crowd: { sessions: 5_000, answerMs: 30_000 },
  crowdHttp: { sessions: 1_000, answerMs: 30_000 },
  // A sample is a turn at each length.
  turnCost: { warmUp: 10, samples: 200, budgetMs: 40_000 },
  sessionList: { warmUp: 50, samples: 200, sessions: 1_000_000, budgetMs: 10_000 },
  // A sample takes seconds by its nature: fewer than elsewhere.
  coupled: { warmUp: 2, samples: 40, budgetMs: 240_000 },
  secretRequests: { warmUp: 50, samples: 500, budgetMs: 20_000 },
  secretDownloads: { warmUp: 1, samples: 8, budgetMs: 40_000 },
};

export const QUICK: Plan = {
  isQuick: true,
  firstToken: { warmUp: 20, samples: 50, budgetMs: 10_000 },
  paced: { warmUp: 0, samples: 1, atOnce: 3, budgetMs: 10_000 },
  unpaced: { warmUp: 2, samples: 5, budgetMs: 10_000 },
  appends: { warmUp: 2, samples: 10, budgetMs: 5_000 },
  sandbox: { warmUp: 1, samples: 5, budgetMs: 10_000 },
  containers: { warmUp: 1, samples: 5, budgetMs: 10_000 },
  manySandboxes: { sandboxes: 10 },
  keptFiles: { warmUp: 0, samples: 2, budgetMs: 30_000 },
  kill: { warmUp: 1, samples: 3, budgetMs: 10_000 },
  wake: { warmUp: 0, samples: 4, pairs: 2, longEvents: 100_000, budgetMs: 20_000 },
  memory: { sessions: 100, warmUp: 30 },
  crowd: { sessions: 200, answerMs: 5_000 },
  crowdHttp: { sessions: 50, answerMs: 5_000 },
  turnCost: { warmUp: 1, samples: 5, budgetMs: 10_000 },
  sessionList: { warmUp: 5, samples: 20, sessions: 50_000, budgetMs: 5_000 },
  coupled: { warmUp: 1, samples: 3, budgetMs: 20_000 },
  secretRequests: { warmUp: 20, samples: 50, budgetMs: 5_000 },
  secretDownloads: { warmUp: 0, samples: 2, budgetMs: 10_000 },
};
