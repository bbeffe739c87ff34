import { answer, toolCall } from "@drover/testing";
import { expect, test } from "vitest";
import { Conversation, resultsOf } from "./support/conversation.ts";
import { handsPid, isAlive } from "./support/host.ts";
import { script } from "./support/last-words.ts";
import { until } from "./support/until.ts";
import { useWorld } from "./support/world.ts";
import { zipOf } from "./support/zip.ts";

const world = useWorld();

const bash = (command: string) => toolCall("bash", { command });

test("an agent is told of its skills, reads one on demand and runs its script", async () => {
  const name = "count-lines";
  const talk = await Conversation.open(world(), { skills: [await skill(name, "Counts lines.")] });
  await talk.say(
    script(
      answer(toolCall("read", { file_path: `/mnt/skills/${name}/SKILL.md` })),
      answer(bash(`/mnt/skills/${name}/scripts/count.sh one two`)),
      answer(
        bash(`echo spoilt >> /mnt/skills/${name}/SKILL.md`),
        toolCall("write", { file_path: `/mnt/skills/${name}/SKILL.md`, content: "spoilt" }),
      ),
      answer("done"),
    ),
  );
  const [document, count, ...writes] = resultsOf(await talk.afterTurns(1));
  expect(document?.text).toContain("Run scripts/count.sh.");
  expect(count).toEqual({ text: "2 words", isError: false });
  expect(writes.map(({ isError }) => isError)).toEqual([true, true]);
  const told = systemOf();
  expect(told).toContain(`- ${name}: Counts lines. (/mnt/skills/${name}/SKILL.md)`);
  // Stable within the session, so that a cached prefix stays valid.
  await talk.say(script(answer("again")));
  await talk.afterTurns(2);
  expect(systemOf()).toBe(told);
});

test("a skill that was deleted stays in the sessions that have it, also after the hands died", async () => {
  const reference = await skill("short-lived", "Is deleted.");
  const talk = await Conversation.open(world(), { skills: [reference] });
  await world().client.beta.skills.delete(reference.skill_id);
  const look = answer(bash("cat /mnt/skills/short-lived/SKILL.md"));
  await talk.say(script(look, answer("done")));
  await talk.afterTurns(1);
  const pid = handsPid(world());
  if (pid === undefined) throw new Error("there are no hands");
  process.kill(pid, "SIGKILL");
  await until("the end of the hands", async () => !isAlive(pid) || undefined);
  await talk.say(script(look, answer("done")));
  const [first, second] = resultsOf(await talk.afterTurns(2));
  expect(first?.text).toContain("Run scripts/count.sh.");
  expect(second).toEqual(first);
  await expect(Conversation.open(world(), { skills: [reference] })).rejects.toMatchObject({
    status: 404,
  });
});

test("sessions that share a skill have the same files of it", async () => {
  const skills = [await skill("shared-one", "Is shared.")];
  const [one, two] = [
    await Conversation.open(world(), { skills }),
    await Conversation.open(world(), { skills }),
  ];
  const inode = script(answer(bash("stat -c %i /mnt/skills/shared-one/SKILL.md")), answer("done"));
  for (const talk of [one, two]) await talk.say(inode);
  const [first] = resultsOf(await one.afterTurns(1));
  expect(resultsOf(await two.afterTurns(1))).toEqual([first]);
  expect(Number(first?.text)).toBeGreaterThan(0);
});

test("a session whose agent's skills cannot be read, or have one place, is refused", async () => {
  const reference = await skill("same-name", "One.");
  const other = await skill("same-name", "Two.");
  const open = (options: Parameters<typeof Conversation.open>[1]) =>
    Conversation.open(world(), options);
  await expect(open({ skills: [reference, other] })).rejects.toThrow("/mnt/skills/same-name");
  await expect(open({ skills: [reference], tools: [] })).rejects.toMatchObject({ status: 400 });
  const talk = await open({ skills: [reference] });
  const { sessions } = world().client.beta;
  await expect(sessions.update(talk.id, { agent: { tools: [] } })).rejects.toMatchObject({
    status: 400,
  });
  const { agent } = await sessions.retrieve(talk.id);
  expect(agent.skills).toEqual([
    {
      ...reference,
      version: (await world().client.beta.skills.retrieve(reference.skill_id)).latest_version_id,
    },
  ]);
});

async function skill(name: string, description: string) {
  const text = `---\nname: ${name}\ndescription: ${description}\n---\nRun scripts/count.sh.\n`;
  const zip = zipOf([
    { name: `${name}/SKILL.md`, content: text },
    {
      name: `${name}/scripts/count.sh`,
      content: '#!/bin/sh\necho "$# words"\n',
      isExecutable: true,
    },
  ]);
  const files = [new File([zip], `${name}.zip`)];
  const { id } = await world().client.beta.skills.create({ files });
  return { type: "custom" as const, skill_id: id };
}

/** What the model was told in the newest request. */
function systemOf(): string {
  const system = world().model.requests.at(-1)?.body["system"];
  return JSON.stringify(system);
}
