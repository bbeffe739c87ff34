import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { answer, failing, toolCall } from "@drover/testing";
import { describe, expect, test } from "vitest";
import { drover } from "../support/drover.ts";
import {
  Conversation,
  isType,
  MODEL,
  messagesOf,
  resultsOf,
  typesOf,
} from "./support/conversation.ts";
import {
  endWait,
  handsPid,
  isAlive,
  longSleep,
  processesWith,
  sandboxPids,
  waiting,
} from "./support/host.ts";
import { script } from "./support/last-words.ts";
import { until } from "./support/until.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();

test("a running session can be neither deleted nor archived; an idle one takes its sandbox with it", async () => {
  const { sessions, files } = world().client.beta;
  const talk = await Conversation.open(world());
  const [marker, wait] = [longSleep(), longSleep()];
  const command = `echo made > /mnt/session/outputs/made.txt; (sleep ${marker} &) ; ${waiting(wait)}`;
  await talk.say(script(answer(toolCall("bash", { command })), answer("done")));
  await talk.event(isType("agent.tool_use"));
  await expect(sessions.delete(talk.id)).rejects.toThrow(Anthropic.BadRequestError);
  await expect(sessions.archive(talk.id)).rejects.toThrow(Anthropic.BadRequestError);
  await until("its process", () => processesWith(marker)[0]);
  await endWait(wait);
  await talk.afterTurns(1);
  const [output] = (await files.list({ scope_id: talk.id })).data;
  expect(output?.filename).toBe("made.txt");
  expect([processesWith(marker).length, handFolders()]).toEqual([1, [expect.any(String)]]);
  expect(await sessions.delete(talk.id)).toEqual({ id: talk.id, type: "session_deleted" });
  await until("the end of its processes", () => processesWith(marker).length === 0 || undefined);
  await until("the end of its files", () => handFolders().length === 0 || undefined);
  await expect(files.retrieveMetadata(output?.id ?? "")).rejects.toMatchObject({ status: 404 });
  await expect(sessions.events.list(talk.id)).rejects.toMatchObject({ status: 404 });
});

test("an archived session is terminated, can be read, and takes nothing more", async () => {
  const { sessions } = world().client.beta;
  const talk = await Conversation.open(world());
  await talk.say("hello");
  await talk.afterTurns(1);
  const listening = await talk.listen();
  const archived = await sessions.archive(talk.id);
  expect(archived).toMatchObject({ status: "terminated", archived_at: expect.any(String) });
  await listening.event(({ type }) => type === "session.status_terminated");
  await listening.close();
  await expect(talk.say("more")).rejects.toThrow(Anthropic.BadRequestError);
  expect(typesOf(await talk.history()).at(-1)).toBe("session.status_terminated");
  const listed = (await sessions.list({ limit: 100 })).data.map(({ id }) => id);
  expect(listed).not.toContain(talk.id);
});

test("a server that is stopped in order leaves the command running, and the next goes on with it", async () => {
  const talk = await Conversation.open(world());
  const marker = longSleep();
  const command = `echo begun; ${waiting(marker)}; echo over`;
  await talk.say(script(answer(toolCall("bash", { command })), answer("done")));
  await until("the command", () => processesWith(marker)[0]);
  const hands = handsPid(world()) ?? 0;
  expect(drover(["stop"], { env: { DROVER_DATA: world().data } }).status).toBe(0);
  expect([isAlive(hands), processesWith(marker).length > 0]).toEqual([true, true]);
  await world().start();
  await endWait(marker);
  const history = await talk.afterTurns(1);
  expect(resultsOf(history)).toEqual([{ text: "begun\nover", isError: false }]);
  expect(messagesOf(history)).toEqual(["done"]);
  expect(handsPid(world())).toBe(hands);
});

/** Longer than a server takes to be killed and started again, also where it takes long. */
const BACK_OFF_S = 20;

test("a back-off outlives its server, and so does what waits behind it", async () => {
  const talk = await Conversation.open(world());
  const busy = { type: "status", status: 429, error_type: "rate_limit_error" } as const;
  await talk.say(script(failing({ ...busy, headers: { "retry-after": String(BACK_OFF_S) } })));
  await talk.event(isType("session.status_rescheduled"));
  await talk.say("and this?");
  await world().restart();
  expect(await talk.status()).toBe("rescheduling");
  const history = await talk.afterTurns(1);
  expect(messagesOf(history)).toEqual(["You said: and this?"]);
  const [rescheduled, ...again] = history.filter(isType("session.status_rescheduled"));
  expect(again).toEqual([]);
  const resumed = history.findLast(isType("session.status_running"));
  const pausedMs =
    Date.parse(resumed?.processed_at ?? "") - Date.parse(rescheduled?.processed_at ?? "");
  expect(pausedMs).toBeGreaterThanOrEqual(BACK_OFF_S * 1_000);
  expect(history.filter(isType("user.message"))).toHaveLength(2);
});

test("`drover stop --hands` ends every process of every sandbox", async () => {
  const talk = await Conversation.open(world());
  const marker = longSleep();
  await talk.say(script(answer(toolCall("bash", { command: `setsid sleep ${marker} & echo` }))));
  await talk.afterTurns(1);
  await until("its process", () => processesWith(marker)[0]);
  const pids = [handsPid(world()) ?? 0, ...sandboxPids(world())];
  expect(pids.length).toBeGreaterThan(1);
  expect(processesWith(marker)).toHaveLength(1);
  drover(["stop", "--hands"], { env: { DROVER_DATA: world().data } });
  expect([pids.filter(isAlive), processesWith(marker)]).toEqual([[], []]);
  await world().start();
  await talk.say(script(answer(toolCall("bash", { command: "echo back" })), answer("done")));
  expect(resultsOf(await talk.afterTurns(2)).at(-1)).toEqual({ text: "back", isError: false });
});

describe("what a session is made of", () => {
  test("stays as it was when agent and environment change", async () => {
    const { agents, environments, sessions } = world().client.beta;
    const agent = await agents.create({ name: "first", model: MODEL, system: "Be the first." });
    const environment = await environments.create({ name: "to be archived" });
    const session = await sessions.create({ agent: agent.id, environment_id: environment.id });
    await agents.update(agent.id, { version: 1, name: "second", system: "Be the second." });
    await environments.archive(environment.id);
    await agents.archive(agent.id);
    const stream = await sessions.events.stream(session.id);
    await sessions.events.send(session.id, {
      events: [{ type: "user.message", content: [{ type: "text", text: "who are you?" }] }],
    });
    for await (const event of stream) if (event.type === "session.status_idle") break;
    const asked = world().model.requests.findLast(
      ({ lastUserText }) => lastUserText === "who are you?",
    );
    expect(JSON.stringify(asked?.body["system"])).toContain("Be the first.");
    expect((await sessions.retrieve(session.id)).agent).toMatchObject({
      name: "first",
      version: 1,
    });
    await expect(
      sessions.create({ agent: agent.id, environment_id: environment.id }),
    ).rejects.toThrow(Anthropic.BadRequestError);
  });

  test("is its own: forty sessions at once each get their own answer, and all end", async () => {
    const talks = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const talk = await Conversation.open(world());
        await talk.say(`I am ${index}`);
        return talk;
      }),
    );
    const answers = await Promise.all(
      talks.map(async (talk) => messagesOf(await talk.afterTurns(1))),
    );
    expect(answers).toEqual(talks.map((_, index) => [`You said: I am ${index}`]));
  });

  test("is closed to others: no file, no process, no secret of the server or another session", async () => {
    const [mine, other] = [await Conversation.open(world()), await Conversation.open(world())];
    const marker = longSleep();
    const hide = `echo treasure-${marker} > treasure; (exec -a sleep-${marker} sleep 600 &)`;
    await other.say(script(answer(toolCall("bash", { command: hide })), answer("done")));
    await other.afterTurns(1);
    const secrets = [world().apiKey, world().model.apiKey, `treasure-${marker}`];
    // They come in a file and are handled by builtins: no command line of the search has them.
    const searched = [`canary-${marker}`, ...secrets, `sleep-${marker}`].join("\n");
    const search = `mapfile -t needles < searched; rm searched
      CANARY=\${needles[0]} sleep 300 &
      until grep -qs CANARY= /proc/$!/environ; do :; done
      for needle in "\${needles[@]}"; do
        grep -rlsF -f <(printf %s "$needle") /workspace /tmp /mnt /home /root /etc /run /var /dev/shm
        cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' |
          grep -F -f <(printf %s "$needle")
      done; ls -d ${world().data} 2>&1`;
    await mine.say(
      script(
        answer(toolCall("write", { file_path: "searched", content: `${searched}\n` })),
        answer(toolCall("bash", { command: search })),
        answer("done"),
      ),
    );
    const found = resultsOf(await mine.afterTurns(1)).at(-1);
    expect(found?.text.split("\n")).toEqual([
      `CANARY=canary-${marker}`,
      expect.stringMatching(/^ls: cannot access .*No such file or directory$/),
    ]);
  });
});

function handFolders(): string[] {
  const folder = join(world().data, "hands");
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(folder, entry.name, "workspace")))
    .map(({ name }) => name);
}
