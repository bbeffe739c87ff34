import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { answer, CERTIFICATE, toolCall } from "@drover/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Conversation, resultsOf } from "./support/conversation.ts";
import { EchoHost } from "./support/echo-host.ts";
import { isAlive } from "./support/host.ts";
import { script } from "./support/last-words.ts";
import { until } from "./support/until.ts";
import { newWorld, type World } from "./support/world.ts";

/** A request that needs a secret waits for a server that died, whenever that was, and is made once. */

const folder = mkdtempSync(join(tmpdir(), "drover-ca-"));
const certificates = join(folder, "ca.pem");
writeFileSync(certificates, CERTIFICATE);

const SETTINGS = {
  DROVER_EGRESS_ALLOW: "127.0.0.1,echo.localhost",
  NODE_EXTRA_CA_CERTS: certificates,
};

let echo: EchoHost;
beforeAll(async () => {
  echo = await EchoHost.start();
});
afterAll(async () => {
  await echo[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

// The first question is what there is, when the sandbox is made; the secret itself comes some later.
test.each([
  "serve.question.before:1",
  "serve.question.after:1",
  "serve.question.before:2",
  "serve.question.after:2",
])("a server that dies at %s", async (point) => {
  const secret = `canary-${point}`;
  // Of its own: seconds later hands tell how often a secret was used, which is a question as well.
  const world = await newWorld(SETTINGS);
  await world.start(["env", `DROVER_TEST_FAIL_POINT=${point}`]);
  const { pid } = world;
  const talk = await sessionWith(world, secret);
  const command = `curl -sS -x http://127.0.0.1:3128 -H "x-key: $KEY" ${echo.secure}/${encodeURIComponent(point)}`;
  await talk.say(script(answer(toolCall("bash", { command })), answer("done")));
  await until("the death", async () => !isAlive(pid) || undefined);
  await world.restart();
  const [result] = resultsOf(await talk.afterTurns(1));
  expect(result).toMatchObject({ isError: false, text: expect.stringContaining("***") });
  const arrived = echo.seen.filter((text) => text.includes(encodeURIComponent(point)));
  expect(arrived).toEqual([expect.stringContaining(secret)]);
  // On record, before it was used.
  const uses = await fetch(`${world.url}/v1/drover/credential_uses?session_id=${talk.id}`, {
    headers: { "x-api-key": world.apiKey },
  });
  const { data } = (await uses.json()) as { data: readonly { releases: number }[] };
  expect(data.reduce((sum, { releases }) => sum + releases, 0)).toBeGreaterThan(0);
});

async function sessionWith(world: World, secret_value: string): Promise<Conversation> {
  const { vaults } = world.client.beta;
  const { id } = await vaults.create({ display_name: "one" });
  await vaults.credentials.create(id, {
    auth: {
      ...{ type: "environment_variable", secret_name: "KEY", secret_value },
      networking: { type: "limited", allowed_hosts: ["echo.localhost"] },
    },
  });
  return await Conversation.open(world, { vault_ids: [id] });
}
