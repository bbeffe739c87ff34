import { createTestDatabase, type TestDatabase } from "@drover/testing";
import { afterAll, beforeAll, test } from "vitest";
import { CONFORMANCE_MS, runConformance } from "./run-conformance.ts";
import { Served } from "./served.ts";

let database: TestDatabase;
let server: Served;
beforeAll(async () => {
  database = await createTestDatabase();
  server = await Served.start({ DROVER_DATABASE: database.url });
});
afterAll(async () => {
  server.close();
  await database[Symbol.asyncDispose]();
});

test(
  "a server on PostgreSQL does what the contract says",
  () => runConformance(server),
  CONFORMANCE_MS,
);
