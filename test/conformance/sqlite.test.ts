import { afterAll, beforeAll, test } from "vitest";
import { runConformance } from "./run-conformance.ts";
import { Served } from "./served.ts";

let server: Served;
beforeAll(async () => {
  server = await Served.start();
});
afterAll(() => server.close());

test("a server on SQLite does what the contract says", () => runConformance(server));
