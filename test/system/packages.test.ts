import { execFileSync } from "node:child_process";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { BetaCloudConfigParams } from "@anthropic-ai/sdk/resources/beta/environments";
import { answer, startMessagesApi, toolCall } from "@drover/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Conversation, resultsOf } from "./support/conversation.ts";
import { lastWords, script } from "./support/last-words.ts";
import { World } from "./support/world.ts";

/** Of the server's sources, which this project's types do not reach into. */
const REGISTRIES = "../../packages/server/src/hands/packages/registries.testsuite.ts";

interface TestRegistries extends Disposable {
  readonly server: Server;
  readonly asked: readonly string[];
}

let world: World;
let registries: TestRegistries;

beforeAll(async () => {
  const { Registries } = await import(REGISTRIES);
  const own: TestRegistries = await Registries.open("http://unused.test");
  registries = own;
  await new Promise<void>((done) => own.server.listen(0, "127.0.0.1", done));
  const { port } = own.server.address() as AddressInfo;
  const npm = execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).trim();
  world = new World(await startMessagesApi({ script: lastWords() }), {
    DROVER_PACKAGES_NPM: npm,
    DROVER_PACKAGES_PIP: `http://registry.localhost:${port}/simple`,
    DROVER_EGRESS_ALLOW: `127.0.0.1,${new URL(npm).hostname}`,
  });
  await world.start();
});

afterAll(async () => {
  await world?.close();
  registries?.[Symbol.dispose]();
});

function cloud(
  packages: BetaCloudConfigParams["packages"],
  networking?: BetaCloudConfigParams["networking"],
): BetaCloudConfigParams {
  return { type: "cloud", packages: packages ?? null, networking: networking ?? null };
}

test("an environment's packages of npm and pip are there, pinned, for several sessions at once", async () => {
  const packages = { npm: ["is-odd@3.0.1"], pip: ["drover-hello==1.0.0"] };
  const environment = cloud(packages, { type: "limited", allow_package_managers: true });
  const command = `node -p 'require("is-odd/package.json").version'; hello-pip`;
  const use = async () => {
    const talk = await Conversation.open(world, { environment });
    await talk.say(script(answer(toolCall("bash", { command })), answer("done")));
    return resultsOf(await talk.afterTurns(1)).map(({ text }) => text.trim());
  };
  const said = ["3.0.1\nhello from a registry of the test"];
  expect(await Promise.all([use(), use(), use()])).toEqual([said, said, said]);
  const wheels = registries.asked.filter((path) => path.startsWith("/wheels/"));
  expect(wheels).toHaveLength(1);
});

test("a package that is not to be had is named in the call's error, and the session goes on", async () => {
  const packages = { pip: ["drover-absent==9.9.9"] };
  const talk = await Conversation.open(world, { environment: cloud(packages) });
  const turn = script(answer(toolCall("bash", { command: "echo never" })), answer("done"));
  await talk.say(turn);
  const [first] = resultsOf(await talk.afterTurns(1));
  expect(first).toMatchObject({ isError: true });
  expect(first?.text).toMatch(/pip could not install drover-absent==9\.9\.9 [\s\S]*No matching/);
  await talk.say(turn);
  const again = resultsOf(await talk.afterTurns(2)).at(-1);
  expect(again?.text).toMatch(/drover-absent==9\.9\.9[\s\S]*tried again in \d+ s/);
});

test("packages of apt are refused with the host's programs, and what to set is said", async () => {
  const environment = cloud({ apt: ["jq"] });
  await expect(Conversation.open(world, { environment })).rejects.toMatchObject({
    status: 400,
    message: expect.stringMatching(/environment\.config\.packages\.apt: .*DROVER_SANDBOX_BASE/),
  });
});
