import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { answer, toolCall } from "@drover/testing";
import { expect, test } from "vitest";
import { Conversation } from "./support/conversation.ts";
import { handsPid, isAlive, longSleep, processesWith } from "./support/host.ts";
import { script } from "./support/last-words.ts";
import { until } from "./support/until.ts";
import { newWorld, useWorld, type World } from "./support/world.ts";

const world = useWorld();

test("deleting a session that never used a tool starts no hands", async () => {
  const talk = await Conversation.open(world());
  await talk.say("hello");
  await talk.afterTurns(1);
  await world().client.beta.sessions.delete(talk.id);
  // The next server would see to what this one did not get to.
  await world().restart();
  const another = await Conversation.open(world());
  await another.say("hello");
  await another.afterTurns(1);
  expect([handsPid(world()), existsSync(join(world().data, "hands"))]).toEqual([undefined, false]);
});

test.each(["serve.dispose.before", "client.dispose.after", "serve.dispose.after"])(
  "a server killed at %s: the next one ends what the deleted session left",
  async (point) => {
    // Of its own: what another case has left to be committed would be met at the start.
    const world = await newWorld();
    await world.start(["env", `DROVER_TEST_FAIL_POINT=${point}:1`]);
    const talk = await Conversation.open(world);
    const marker = longSleep();
    const command = `(sleep ${marker} &) ; echo begun`;
    await talk.say(script(answer(toolCall("bash", { command })), answer("done")));
    await talk.afterTurns(1);
    await until("its process", () => processesWith(marker)[0]);
    expect([processesWith(marker).length, workspaces(world)]).toEqual([1, 1]);
    // Its answer may be lost with the server.
    await world.client.beta.sessions.delete(talk.id).catch(() => undefined);
    await until("the death of the server", () => !isAlive(world.pid) || undefined);
    await world.restart();
    await expect(talk.status()).rejects.toMatchObject({ status: 404 });
    await until("the end of its processes", () => processesWith(marker).length === 0 || undefined);
    await until("the end of its files", () => workspaces(world) === 0 || undefined);
  },
);

function workspaces({ data }: World): number {
  const folder = join(data, "hands");
  if (!existsSync(folder)) return 0;
  return readdirSync(folder, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && existsSync(join(folder, entry.name, "workspace")),
  ).length;
}
