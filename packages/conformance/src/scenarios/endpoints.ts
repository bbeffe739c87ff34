import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { ENDPOINTS, type Endpoint } from "../support/endpoints.ts";
import { assertRefused } from "../support/expect.ts";
import { Resources } from "../support/resources.ts";
import type { Target, WireAnswer } from "../target.ts";

export const endpoints: readonly Scenario[] = [
  ...ENDPOINTS.map((endpoint) =>
    scenario(
      `${endpoint.method} ${endpoint.path} answers`,
      {
        verifies: [`endpoints.${endpoint.id}`],
        ...(endpoint.deferred === undefined ? {} : { deferred: endpoint.deferred }),
      },
      async (t) => {
        const { status, text } = await call(t, endpoint);
        // What is deferred is not known well enough to be called rightly.
        if (endpoint.deferred === undefined) assert.equal(status, endpoint.status ?? 200, text);
        else assert.notEqual(status, 501, text);
      },
    ),
  ),
  scenario(
    "poll and stats are no work items",
    { verifies: ["endpoints.route-order"], deferred: "the work queue is not built" },
    async (t) => {
      const environment = await new Resources(t).id("environment_id");
      const stats = await t.request("GET", `/v1/environments/${environment}/work/stats`);
      assert.equal(stats.body?.type, "work_queue_stats", stats.text);
    },
  ),
  scenario("what is not built says so by name", { verifies: ["endpoints.unbuilt"] }, async (t) => {
    for (const { method, path, deferred } of ENDPOINTS) {
      if (deferred === undefined) continue;
      const answer = await t.request(method, path.replaceAll(/\{\w+\}/g, "nobody"));
      assertRefused(answer, { status: 501, says: /not implemented/ });
      assert.equal(answer.headers.get("x-should-retry"), "false", path);
    }
  }),
];

/** Sends the endpoint's own request; a stream is left as soon as it is open. */
async function call(t: Target, endpoint: Endpoint): Promise<Pick<WireAnswer, "status" | "text">> {
  const resources = new Resources(t);
  const path = await resources.path(endpoint.path);
  const body = await endpoint.body?.(resources, t);
  if (endpoint.answer === "stream") return await openStream(t, path);
  return await t.request(endpoint.method, `${path}${endpoint.query ?? ""}`, { body });
}

async function openStream(t: Target, path: string): Promise<{ status: number; text: string }> {
  const leaving = new AbortController();
  const { baseUrl, apiKey } = t.options;
  const response = await fetch(`${baseUrl}${path}`, {
    headers: { authorization: `Bearer ${apiKey}` },
    signal: leaving.signal,
  });
  leaving.abort();
  return { status: response.status, text: response.headers.get("content-type") ?? "" };
}
