import { expect, test } from "vitest";
import { Contract } from "./document.ts";
import { problemOf } from "./judge.ts";
import type { FuzzRequest } from "./requests.ts";

const thing = {
  type: "object",
  properties: { id: { type: "string" }, count: { type: ["integer", "null"] } },
  required: ["id", "count"],
  additionalProperties: false,
};
const contract = new Contract({
  paths: {
    "/v1/things/{thing_id}": {
      get: {
        operationId: "things.retrieve",
        parameters: [],
        responses: {
          "200": {
            content: { "application/json": { schema: { $ref: "#/components/schemas/Thing" } } },
          },
        },
      },
    },
  },
  components: { schemas: { Thing: thing } },
});
const [endpoint] = contract.endpoints;

function judged(status: number, body: unknown, headers: Record<string, string> = {}) {
  if (endpoint === undefined) throw new Error("there is no endpoint");
  const request: FuzzRequest = {
    ...{ endpoint, who: "admin", method: "GET", path: "/v1/things/x" },
    ...{ headers: [], body: undefined },
  };
  const answer = {
    status,
    headers: { "content-type": "application/json", "request-id": "req_1", ...headers },
    text: typeof body === "string" ? body : JSON.stringify(body),
  };
  const leakIn = (_: unknown, sent: string, text: string) =>
    text.includes("theirs") && !sent.includes("theirs") ? "theirs" : undefined;
  return problemOf(request, answer, { contract, leakIn });
}

const refusal = (message: string, more: object = {}) => ({
  ...{ type: "error", request_id: "req_1", ...more },
  error: { type: "not_found_error", message },
});

test("an answer as the contract has it is no fault", () => {
  expect(judged(200, { id: "x", count: null })).toBeUndefined();
  expect(judged(404, refusal("there is no thing x"))).toBeUndefined();
  expect(judged(501, refusal("not implemented in this version: things"))).toBeUndefined();
});

test.each<[string, number, unknown, RegExp]>([
  ["a failure of the server", 500, refusal("Internal server error"), /^500/],
  ["an unlisted 501", 501, refusal("something else"), /^501/],
  ["a field too few", 200, { id: "x" }, /count: is missing/],
  ["a field too many", 200, { id: "x", count: 1, more: 1 }, /more: is not in the schema/],
  ["another type", 200, { id: "x", count: "1" }, /count: "1" is not/],
  ["no envelope", 400, { message: "no" }, /says/],
  ["a refusal without a word", 400, refusal(""), /says/],
  ["a refusal at length", 400, refusal("x".repeat(3_000)), /too much/],
  ["another request's id", 404, refusal("there is none", { request_id: "req_2" }), /differ/],
  ["another workspace's data", 200, { id: "theirs", count: 1 }, /tells admin of theirs/],
  ["another workspace's data in a refusal", 404, refusal("theirs is there"), /tells admin of/],
])("%s is a fault", (_name, status, body, problem) => {
  expect(judged(status, body)).toMatch(problem);
});
