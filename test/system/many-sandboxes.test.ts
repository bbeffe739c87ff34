import { readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { answer, toolCall } from "@drover/testing";
import { expect, test } from "vitest";
import { Conversation, resultsOf, type SessionEvent } from "./support/conversation.ts";
import { OPEN_WORKSPACES, sandboxPids } from "./support/host.ts";
import { script } from "./support/last-words.ts";
import { until } from "./support/until.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld(OPEN_WORKSPACES);

const SANDBOXES = 50;
/** All wait for it, so that there is a moment in which all of them are there and run. */
const WAIT = "mkfifo pause; until [ -e go ]; do read -t 0.2 <> pause; done; cat go";

test(`${SANDBOXES} sandboxes at once answer, each with its own files, and go with their sessions`, async () => {
  const talks: { talk: Conversation; heard: Awaited<ReturnType<Conversation["listen"]>> }[] = [];
  for (let index = 0; index < SANDBOXES; index += 1) {
    const talk = await Conversation.open(world());
    talks.push({ talk, heard: await talk.listen() });
  }
  await Promise.all(
    talks.map(({ talk }, index) => {
      const wait = toolCall("bash", { command: `echo ${index} > mine; ${WAIT}` });
      const own = toolCall("bash", { command: `cat mine; ls | xargs` });
      return talk.say(script(answer(wait), answer(own), answer("done")));
    }),
  );
  await until("all sandboxes", () => sandboxPids(world()).length === SANDBOXES || undefined);
  const hands = join(world().data, "hands");
  for (const hand of readdirSync(hands)) {
    // There with its content, or not at all: somebody looks for it all the time.
    const draft = join(hands, hand, "go");
    writeFileSync(draft, "go\n");
    renameSync(draft, join(hands, hand, "workspace", "go"));
  }
  for (const [index, { heard }] of talks.entries()) {
    await heard.event(({ type }) => type === "session.status_idle");
    expect(resultsOf(heard.events as SessionEvent[])).toEqual([
      { text: "go", isError: false },
      { text: `${index}\ngo mine pause`, isError: false },
    ]);
    await heard.close();
  }
  expect(sandboxPids(world())).toHaveLength(SANDBOXES);
  await Promise.all(talks.map(({ talk }) => world().client.beta.sessions.delete(talk.id)));
  await until("the end of all", () => readdirSync(hands).length === 0 || undefined);
});
