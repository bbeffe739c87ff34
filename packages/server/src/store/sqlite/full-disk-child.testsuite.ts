import { readdirSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { StoreUnavailableError } from "../../core/errors.ts";
import { all, claimedSession, message } from "../../core/ports/store.testsuite.ts";
import { LocalBlobs } from "../local-blobs.ts";
import { openSqliteStore } from "./sqlite-store.ts";

/**
 * A program that fills the small disk on which the folder of its argument is, makes room and goes on.
 * Writes what happened as one line of JSON.
 */
const folder = process.argv[2] ?? "";
const ballast = join(folder, "ballast");
writeFileSync(ballast, Buffer.alloc(1024 * 1024));

const open = () =>
  openSqliteStore({
    dataFolder: join(folder, "data"),
    clock: { now: () => Date.now(), sleepUntil: async () => undefined },
    announcements: { publish: () => undefined },
    onFailure: ({ message: sentence }) => told.push(sentence),
    onRecovery: () => told.push("recovered"),
  });
const told: string[] = [];
const store = open();
const claim = await claimedSession(store);
const append = (size: number) =>
  store.write((tx) => tx.events.append({ ...claim, drafts: [message("x".repeat(size))] }));

let acknowledged = 0;
let refusal: unknown;
while (refusal === undefined) {
  const outcomes = await Promise.allSettled([append(40_000), append(100_000), append(10)]);
  for (const outcome of outcomes) {
    if (outcome.status === "fulfilled") acknowledged += 1;
    else refusal = outcome.reason;
  }
}
while ((await Promise.allSettled([append(10)]))[0]?.status === "fulfilled") acknowledged += 1;
const whileFull = {
  refused: refusal instanceof StoreUnavailableError,
  failure: store.failure(),
  probeFails: await store
    .write(async () => undefined)
    .then(
      () => false,
      (error: unknown) => error instanceof StoreUnavailableError,
    ),
  readable: (await all(store, claim)).length,
};

const blobs = await LocalBlobs.open(join(folder, "blobs"));
async function* content(): AsyncGenerator<Uint8Array> {
  yield Buffer.alloc(600_000);
}
const put = () => blobs.put("wrkspc_1", content());
const blobRefused = await put().then(
  () => false,
  (error: unknown) => error instanceof StoreUnavailableError,
);
const leftovers = readdirSync(join(folder, "blobs", ".drafts")).length;

rmSync(ballast);
await store.write(async () => undefined);
const afterwards = { failure: store.failure() ?? null };
await append(50_000);
const stored = await put();
await store.close();
const reopened = open();
const seqs = (await all(reopened, claim)).map(({ seq }) => seq);
await reopened.close();

writeSync(
  1,
  JSON.stringify({
    acknowledged,
    whileFull,
    told,
    blobs: { refused: blobRefused, leftovers, stored: stored.size_bytes },
    afterwards,
    kept: seqs.length,
    gapless: seqs.every((seq, index) => seq === index + 1),
  }),
);
