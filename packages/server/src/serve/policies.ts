import { type Config, ConfigError } from "../config.ts";
import { DEFAULT_POLICIES, type Policies } from "../core/harness/policies.ts";
import { WORKAROUND_NAMES, type WorkaroundName } from "../core/harness/workarounds.ts";
import { closestName } from "../lib/closest-name.ts";

/** The loop's bounds and workarounds as the operator chose them. Throws `ConfigError` on an unknown name. */
export function policiesOf(
  config: Pick<Config, "model" | "policiesOff" | "sessionEvents">,
): Policies {
  const { attemptsMax, backoffMs, retryBudgetMs } = config.model;
  const off = namesOf(config.policiesOff);
  return {
    ...DEFAULT_POLICIES,
    attemptsMax,
    backoffMs,
    retryBudgetMs,
    off,
    lookBack: config.sessionEvents,
  };
}

function namesOf(given: readonly string[]): ReadonlySet<WorkaroundName> {
  if (given.includes("all")) return new Set(WORKAROUND_NAMES);
  return new Set(given.map(knownName));
}

function knownName(given: string): WorkaroundName {
  const known = WORKAROUND_NAMES.find((name) => name === given);
  if (known !== undefined) return known;
  const closest = closestName(given, WORKAROUND_NAMES);
  const hint =
    closest === undefined
      ? ` There are: all, ${WORKAROUND_NAMES.join(", ")}.`
      : ` Did you mean ${closest}?`;
  throw new ConfigError(`DROVER_POLICIES_OFF is not usable: there is no policy ${given}.${hint}`);
}
