import type { SessionUsage } from "@drover/api";
import type { ModelUsage } from "../ports/model.ts";
import { runningCost, shownAmount } from "../pricing/cost.ts";
import type { RequestEnd } from "./log-event.ts";
import { addUsage } from "./usage.ts";

/** What a session or a thread has used, and what that costs at list price. Kept in checkpoints. */
export interface Account {
  /** Tokens and what else model requests reported. */
  readonly usage: SessionUsage;
  /** Milliseconds of finished running time. */
  readonly activeMs: number;
  /** When the present run began (RFC 3339); null while it does not run. */
  readonly runningSince: string | null;
  /** Picodollars for an hour of the present run, as decimal text. */
  readonly hourPrice: string;
  /** Picodollars for all that is finished, as decimal text. */
  readonly cost: string;
  /** True once a model request had a price. */
  readonly isPriced: boolean;
  /** True once one was answered for which there was none: what was consumed is not known then. */
  readonly isUnknown: boolean;
}

/** As much of an account as tells what was consumed. */
export type Spending = Omit<Account, "usage" | "isPriced">;

export const EMPTY_ACCOUNT: Account = {
  usage: {},
  activeMs: 0,
  runningSince: null,
  hourPrice: "0",
  cost: "0",
  isPriced: false,
  isUnknown: false,
};

/** It runs from `now` (RFC 3339) on. The price of its beginning holds for the whole run. */
export function started(account: Account, now: string, hourPrice = "0"): Account {
  return account.runningSince === null ? { ...account, runningSince: now, hourPrice } : account;
}

export function stopped(account: Account, now: string): Account {
  if (account.runningSince === null) return account;
  return {
    ...account,
    activeMs: activeMs(account, now),
    runningSince: null,
    hourPrice: "0",
    cost: String(consumed(account, now)),
  };
}

/** Of one that runs, the time from `until` to `now` does not count. */
export function resumed(account: Account, until: string, now: string): Account {
  if (account.runningSince === null) return account;
  return started(stopped(account, until), now, account.hourPrice);
}

/** Of a model request, what it reported and what that cost, as far as they are known. */
export interface Charge {
  readonly outcome: RequestEnd["outcome"];
  readonly usage?: ModelUsage | undefined;
  readonly cost?: string | undefined;
}

/** Adds what a model request reported, however it ended. */
export function charged(account: Account, { usage, cost, outcome }: Charge): Account {
  const isUnknown = cost === undefined && (outcome === "response" || usage !== undefined);
  return {
    ...account,
    usage: usage === undefined ? account.usage : addUsage(account.usage, usage),
    cost: cost === undefined ? account.cost : String(BigInt(account.cost) + BigInt(cost)),
    isPriced: account.isPriced || cost !== undefined,
    isUnknown: account.isUnknown || isUnknown,
  };
}

/** Milliseconds it has been running, up to `now` (RFC 3339). */
export function activeMs(account: Spending, now: string): number {
  if (account.runningSince === null) return account.activeMs;
  return account.activeMs + Math.max(0, Date.parse(now) - Date.parse(account.runningSince));
}

/** Picodollars up to `now`, as far as they are known. */
export function consumed(account: Spending, now: string): bigint {
  const runMs = activeMs(account, now) - account.activeMs;
  return BigInt(account.cost) + runningCost(runMs, BigInt(account.hourPrice));
}

/** What clients are shown. Without a price of everything that was used there is no cost. */
export function shownUsage(account: Account, now: string): SessionUsage {
  const isKnown = account.isPriced && !account.isUnknown;
  return {
    ...account.usage,
    active_seconds: activeMs(account, now) / 1000,
    ...(isKnown && { list_cost: shownAmount(consumed(account, now)) }),
  };
}
