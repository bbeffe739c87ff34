import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { BetaCloudConfigParams } from "@anthropic-ai/sdk/resources/beta/environments";
import { answer, toolCall } from "@drover/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Conversation, resultsOf } from "./support/conversation.ts";
import { script } from "./support/last-words.ts";
import { useWorld } from "./support/world.ts";

/** The operator names this machine's loopback, and what listens there stands for the world outside. */
const world = useWorld({ DROVER_EGRESS_ALLOW: "localhost" });

const visits: string[] = [];
const outside = createServer((request, response) => {
  visits.push(request.url ?? "");
  response.end("hello from outside");
});
let port = 0;
beforeAll(async () => {
  await new Promise<void>((resolve) => outside.listen(0, "127.0.0.1", resolve));
  ({ port } = outside.address() as AddressInfo);
});
afterAll(() => {
  outside.close();
});

interface Decision {
  readonly host: string;
  readonly verdict: string;
  readonly bytes_down: number;
}

/** Inside, `localhost` is the sandbox itself: only a proxy takes it for the name that it is outside. */
const ask = (path: string) =>
  toolCall("bash", {
    command: `curl -sS -m 10 -x http://127.0.0.1:3128 http://localhost:${port}${path} 2>&1; curl -sS -m 10 http://elsewhere.test/ 2>&1; true`,
  });

async function run(path: string, environment: BetaCloudConfigParams) {
  const talk = await Conversation.open(world(), { environment });
  await talk.say(script(answer(ask(path)), answer("done")));
  const [result] = resultsOf(await talk.afterTurns(1));
  const listed = await world().client.get<{ data: { decisions: Decision[] }[] }>(
    `/v1/drover/sessions/${talk.id}/egress`,
  );
  const decisions = listed.data.flatMap((item) => item.decisions);
  return { text: result?.text ?? "", decisions, history: await talk.history() };
}

test("an environment's hosts are reached, no others, and the session tells of both", async () => {
  const { text, decisions, history } = await run("/allowed", {
    type: "cloud",
    networking: { type: "limited", allowed_hosts: ["localhost"] },
  });
  expect(text).toMatch(/^hello from outside/);
  expect(text).toContain("Could not resolve host: elsewhere.test");
  expect(visits).toEqual(["/allowed"]);
  const told = Object.fromEntries(decisions.map(({ host, verdict }) => [host, verdict]));
  expect(told).toEqual({ localhost: "allowed", "elsewhere.test": "refused" });
  expect(decisions.find(({ host }) => host === "localhost")?.bytes_down).toBeGreaterThan(18);
  expect(history.some(({ type }) => type.startsWith("drover"))).toBe(false);
});

test("an environment that does not name the host does not reach it", async () => {
  const { text, decisions } = await run("/refused", {
    type: "cloud",
    networking: { type: "limited", allowed_hosts: ["other.test"] },
  });
  expect(text).toMatch(/^localhost may not be reached from this sandbox/);
  expect(visits).not.toContain("/refused");
  expect(decisions).toContainEqual(
    expect.objectContaining({ host: "localhost", verdict: "refused" }),
  );
});
