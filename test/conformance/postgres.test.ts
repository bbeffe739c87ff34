import { createTestDatabase, type TestDatabase } from "@drover/testing";
import { afterAll, beforeAll, test } from "vitest";
import { Alternating } from "./alternating.ts";
import { freezeInTurn } from "./frozen-turn.ts";
import { runConformance } from "./run-conformance.ts";
import { Served } from "./served.ts";

let database: TestDatabase;
let first: Served;
let second: Served;
beforeAll(async () => {
  database = await createTestDatabase();
  const settings = { DROVER_DATABASE: database.url };
  first = await Served.start({ settings });
  second = await Served.start({ settings, beside: first });
});
afterAll(async () => {
  first.close();
  await database[Symbol.asyncDispose]();
});

test("a server on PostgreSQL does what the contract says", () => runConformance(first));

test("one of two servers is frozen with a lease, and its late append is refused", () =>
  freezeInTurn(first, second));

test("two servers on one database do it together, asked in turn", async () => {
  const both = await Alternating.open([first.url, second.url]);
  try {
    await runConformance({ url: both.url, apiKey: first.apiKey });
  } finally {
    await both.close();
  }
});
