import { PLACEHOLDER_LENGTH, PLACEHOLDER_PREFIX } from "../../../core/vaults/placeholder.ts";

const PREFIX = Buffer.from(PLACEHOLDER_PREFIX);
const REST = /^[a-z0-9]*$/;
/** So little of a placeholder is as likely the end of a message. */
const FAINT_BYTES = PREFIX.length / 2;
/** Longer than a program needs to go on with what it is writing. */
const PAUSE_MS = 200;
const NOTHING = Buffer.alloc(0);

/** The secret of a placeholder where it may stand; undefined for one that is to go out as it is. */
export type SecretOf = (placeholder: string) => Promise<string | undefined>;

/**
 * A body with secrets in place of placeholders, wherever it is cut. What may be the first letters of one is not kept
 * for long: somebody may wait for just that end of a message. Rejects as `secretOf` and the body do.
 */
export async function* withSecretsInside(
  body: AsyncIterable<Uint8Array>,
  secretOf: SecretOf,
): AsyncGenerator<Buffer> {
  let held: Buffer = NOTHING;
  const isFaint = () => held.length > 0 && held.length <= FAINT_BYTES;
  for await (const chunk of withPauses(body, isFaint)) {
    if (chunk === undefined) {
      yield held;
      held = NOTHING;
      continue;
    }
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const { parts, rest } = read(held.length === 0 ? bytes : Buffer.concat([held, bytes]));
    for (const part of parts) {
      if (typeof part !== "string") yield part;
      else yield Buffer.from((await secretOf(part)) ?? part, "utf8");
    }
    held = rest;
  }
  if (held.length > 0) yield held;
}

/** Undefined, once, where nothing comes for a while and that is of interest. */
async function* withPauses(
  body: AsyncIterable<Uint8Array>,
  isOfInterest: () => boolean,
): AsyncGenerator<Uint8Array | undefined> {
  const iterator = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = iterator.next();
      if (isOfInterest() && (await isLate(next))) yield undefined;
      const { done, value } = await next;
      if (done === true) return;
      yield value;
    }
  } finally {
    await iterator.return?.();
  }
}

async function isLate(next: Promise<unknown>): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(true), PAUSE_MS);
  const isThere = () => false;
  try {
    return await Promise.race([next.then(isThere, isThere), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

interface Read {
  /** In their order: bytes as they are, and placeholders. */
  readonly parts: readonly (Buffer | string)[];
  /** A copy of what may be the beginning of a placeholder. */
  readonly rest: Buffer;
}

function read(data: Buffer): Read {
  const parts: (Buffer | string)[] = [];
  let from = 0;
  for (let at = data.indexOf(PREFIX); at >= 0; at = data.indexOf(PREFIX, from)) {
    if (at > from) parts.push(data.subarray(from, at));
    from = at;
    const text = data.toString("latin1", at, at + PLACEHOLDER_LENGTH);
    const isPlaceholder = REST.test(text.slice(PREFIX.length));
    if (isPlaceholder && text.length < PLACEHOLDER_LENGTH) {
      return { parts, rest: Buffer.from(data.subarray(at)) };
    }
    parts.push(isPlaceholder ? text : PREFIX);
    from += isPlaceholder ? PLACEHOLDER_LENGTH : PREFIX.length;
  }
  const begun = data.length - begunPrefix(data, from);
  if (begun > from) parts.push(data.subarray(from, begun));
  return { parts, rest: Buffer.from(data.subarray(begun)) };
}

/** Bytes at the end with which a placeholder may begin. */
function begunPrefix(data: Buffer, from: number): number {
  const most = Math.min(PREFIX.length - 1, data.length - from);
  for (let length = most; length > 0; length--) {
    if (data.subarray(data.length - length).equals(PREFIX.subarray(0, length))) return length;
  }
  return 0;
}
