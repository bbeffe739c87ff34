import { createHmac } from "node:crypto";
import { InvalidRequestError } from "../core/errors.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { Store, StoreTransaction } from "../core/ports/store.ts";
import { failPoint } from "../lib/fail-point.ts";
import { presentedKey } from "./auth.ts";
import type { AppContext } from "./context.ts";
import { Deliveries } from "./deliveries.ts";

/** How long an answer is kept for its retries. */
export const ANSWER_KEPT_MS = 10 * 60_000;
/** The same for an answer that went out whole: whoever got it sends no retry, and the same again is new. */
export const DELIVERED_KEPT_MS = 30_000;
const PRUNE_EVERY_MS = 60_000;
const PRUNE_LIMIT = 200;
const IDEMPOTENCY_KEY_LENGTH_MAX = 255;

/** A change to the store, and what its caller is told of it. */
export type Effect = (tx: StoreTransaction) => Promise<unknown>;

/** Runs an effect in a transaction and responds with what it answers, as JSON. */
export type Write = (
  c: AppContext,
  effect: Effect,
  /** What tells this request from others to the same path: its body. */
  body: string | Uint8Array | undefined,
) => Promise<Response>;

interface Answer {
  readonly status: number;
  readonly body: string;
}

/**
 * Makes the one way in which requests change anything. A request that is a retry of one that took
 * effect gets that one's answer instead of a second effect: the answer is stored in the transaction
 * of the effect. Retries are known by the official client's count and by equal credential, path and
 * body, or by an `Idempotency-Key`.
 */
export function createWrite({ store, clock }: { store: Store; clock: Clock }): Write {
  const deliveries = new Deliveries(() => clock.now());
  let prunedAt = "";
  return async (c, effect, body) => {
    const attempt = retryCount(c);
    const requestKey = keyOf(c, body, attempt);
    failPoint("serve.accept.before");
    const answer = await store.write(async (tx): Promise<Answer> => {
      if (requestKey === undefined) return answerOf(await effect(tx));
      const isPast = deliveries.isOlder(requestKey, DELIVERED_KEPT_MS);
      const earlier = await findAnswer(tx, { c, requestKey, attempt, isPast });
      if (earlier !== undefined) return earlier;
      const made = answerOf(await effect(tx));
      await tx.answeredRequests.put({
        workspace_id: c.get("principal").workspaceId,
        request_key: requestKey,
        attempt: attempt ?? 0,
        ...made,
        created_at: tx.now,
      });
      if (tx.now > shifted(prunedAt, PRUNE_EVERY_MS)) {
        prunedAt = tx.now;
        await tx.answeredRequests.prune(shifted(tx.now, -ANSWER_KEPT_MS), PRUNE_LIMIT);
      }
      return made;
    });
    failPoint("serve.accept.after");
    if (requestKey !== undefined) deliveries.watch(c, requestKey);
    return c.body(answer.body, 200, { "content-type": "application/json" });
  };
}

async function findAnswer(
  tx: StoreTransaction,
  request: { c: AppContext; requestKey: string; attempt: number | undefined; isPast: boolean },
): Promise<Answer | undefined> {
  const { c, requestKey, attempt, isPast } = request;
  const isKeyed = idempotencyKey(c) !== undefined;
  // A count is no name: the same may be sent anew, its first attempt lost, and must not be swallowed.
  if (!isKeyed && (attempt === 0 || isPast)) return undefined;
  const { workspaceId } = c.get("principal");
  const since = shifted(tx.now, -ANSWER_KEPT_MS);
  const earlier = await tx.answeredRequests.find(workspaceId, requestKey, since);
  if (earlier === undefined) return undefined;
  return isKeyed || earlier.attempt < (attempt ?? 0) ? earlier : undefined;
}

/** Undefined for requests whose retries could not be told from new ones. */
function keyOf(
  c: AppContext,
  body: string | Uint8Array | undefined,
  attempt: number | undefined,
): string | undefined {
  const key = idempotencyKey(c);
  if (key === undefined && attempt === undefined) return undefined;
  const { pathname, search } = new URL(c.req.url);
  // Under the caller's key, which is stored nowhere: bodies hold secrets, and some could be guessed.
  const hash = createHmac("sha256", presentedKey(c));
  hash.update(JSON.stringify([c.req.method, pathname, search, key ?? null]));
  if (key === undefined && body !== undefined) hash.update(body);
  return hash.digest("hex");
}

function retryCount(c: AppContext): number | undefined {
  const header = c.req.header("x-stainless-retry-count");
  return header !== undefined && /^\d{1,4}$/.test(header) ? Number(header) : undefined;
}

function idempotencyKey(c: AppContext): string | undefined {
  const key = c.req.header("idempotency-key");
  if (key === undefined || key === "") return undefined;
  if (key.length > IDEMPOTENCY_KEY_LENGTH_MAX) {
    throw new InvalidRequestError(
      `idempotency-key: must be at most ${IDEMPOTENCY_KEY_LENGTH_MAX} characters`,
    );
  }
  return key;
}

function answerOf(value: unknown): Answer {
  return { status: 200, body: JSON.stringify(value) };
}

function shifted(time: string, ms: number): string {
  return time === "" ? "" : new Date(Date.parse(time) + ms).toISOString();
}
