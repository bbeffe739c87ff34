import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { answer, toolCall } from "@drover/testing";
import { expect, test } from "vitest";
import { Conversation, resultsOf } from "./support/conversation.ts";
import {
  handsPid,
  isAlive,
  OPEN_WORKSPACES,
  sandboxPids,
  workspaceFile,
  workspaceWith,
} from "./support/host.ts";
import { script } from "./support/last-words.ts";
import { until } from "./support/until.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld(OPEN_WORKSPACES);

const bash = (command: string) => answer(toolCall("bash", { command }));
const memory = () => world().client.beta.memoryStores;

let names = 0;
async function newStore(files: Readonly<Record<string, string>> = {}) {
  names += 1;
  const store = await memory().create({ name: `Team Notes ${names}`, description: "What we know" });
  for (const [path, content] of Object.entries(files)) {
    await memory().memories.create(store.id, { path, content });
  }
  return { id: store.id, path: `/mnt/memory/team-notes-${names}` };
}

type Attached = { memory_store_id: string; access?: "read_only"; instructions?: string };
const attach = (...stores: readonly Attached[]) => ({
  resources: stores.map((store) => ({ type: "memory_store" as const, ...store })),
});

async function contents(storeId: string): Promise<Record<string, string | null | undefined>> {
  const found: Record<string, string | null | undefined> = {};
  for await (const each of memory().memories.list(storeId, { view: "full", limit: 20 })) {
    if (each.type === "memory") found[each.path] = each.content;
  }
  return found;
}

/** The store's history, the oldest first: what was done, where, and by which session if it was one. */
async function versions(storeId: string): Promise<string[]> {
  const all: string[] = [];
  for await (const { operation, path, created_by } of memory().memoryVersions.list(storeId, {})) {
    const by = created_by?.type === "session_actor" ? created_by.session_id : created_by?.type;
    all.unshift(`${operation} ${path} ${by}`);
  }
  return all;
}

function systemOf(): string {
  return JSON.stringify(world().model.requests.at(-1)?.body["system"]);
}

test("an agent is told of its memory stores, reads them, and what it changes are versions of its session", async () => {
  const store = await newStore({ "/a.md": "alpha\n", "/old/b.md": "beta\n", "/c.md": "gamma\n" });
  const fixed = await newStore({ "/rules.md": "Be kind.\n" });
  const talk = await Conversation.open(
    world(),
    attach(
      { memory_store_id: store.id },
      { memory_store_id: fixed.id, access: "read_only", instructions: "Read the rules first." },
    ),
  );
  await talk.say(
    script(
      bash(`cat ${store.path}/a.md ${fixed.path}/rules.md`),
      answer(
        toolCall("write", { file_path: `${store.path}/new.md`, content: "new" }),
        toolCall("edit", {
          file_path: `${store.path}/a.md`,
          old_string: "alpha",
          new_string: "ALPHA",
        }),
        toolCall("write", { file_path: `${fixed.path}/rules.md`, content: "None." }),
      ),
      bash(`cd ${store.path} && mv old/b.md b.md && rm c.md; echo x >> ${fixed.path}/rules.md`),
      answer("done"),
    ),
  );
  const [read, ...rest] = resultsOf(await talk.afterTurns(1));
  const [moved] = rest.splice(-1);
  expect(read).toEqual({ text: "alpha\nBe kind.", isError: false });
  // Only the write into the read-only one.
  expect(rest.map(({ isError }) => isError).toSorted()).toEqual([false, false, true]);
  // Which of the two comes first depends on whose the sandbox's user is.
  expect(moved?.text).toMatch(/Read-only file system|Permission denied/);
  expect(await contents(store.id)).toEqual({
    ...{ "/a.md": "ALPHA\n", "/b.md": "beta\n", "/new.md": "new" },
  });
  expect(await contents(fixed.id)).toEqual({ "/rules.md": "Be kind.\n" });
  const made = (await versions(store.id)).slice(3);
  expect(made.toSorted()).toEqual(
    ["created /new.md", "modified /a.md", "modified /b.md", "deleted /c.md"]
      .map((each) => `${each} ${talk.id}`)
      .toSorted(),
  );
  expect(await versions(fixed.id)).toEqual(["created /rules.md api_actor"]);
  const told = systemOf();
  expect(told).toContain(`- ${store.path} (Team Notes 1; read and write): What we know`);
  expect(told).toContain(`- ${fixed.path} (Team Notes 2; read-only): What we know: Read the rules`);
  const events = await talk.history();
  expect(events.filter(({ type }) => type === "session.error")).toEqual([]);
});

test("sessions that share a store see each other's changes, and lose none that cross", async () => {
  const store = await newStore({ "/shared.md": "start" });
  const [one, two] = [
    await Conversation.open(world(), attach({ memory_store_id: store.id })),
    await Conversation.open(world(), attach({ memory_store_id: store.id })),
  ];
  await one.say(script(bash(`cat ${store.path}/shared.md`), answer("read")));
  await two.say(script(bash(`cat ${store.path}/shared.md`), answer("read")));
  await one.afterTurns(1);
  await two.afterTurns(1);
  await one.say(script(bash(`printf one > ${store.path}/shared.md`), answer("wrote")));
  await one.afterTurns(2);
  // Two sees it at its next call, then writes while the API changes it, before the call has ended.
  const command = [
    `cat ${store.path}/shared.md; printf two > ${store.path}/shared.md`,
    "touch begun; until [ -e go ]; do sleep 0.02; done",
  ].join("; ");
  await two.say(script(bash(command), bash(`cd ${store.path}; ls; cat shared.md`), answer("done")));
  const workspace = await until("the command", () => workspaceWith(world(), "begun"));
  const [shared] = (await memory().memories.list(store.id, {})).data;
  if (shared?.type !== "memory") throw new Error("the memory is not there");
  await memory().memories.update(shared.id, { memory_store_id: store.id, content: "api" });
  writeFileSync(join(workspace, "go"), "");
  const [, crossing, after] = resultsOf(await two.afterTurns(2));
  const beside = Object.keys(await contents(store.id)).find((path) => path !== "/shared.md");
  expect(beside).toMatch(/^\/shared\.md\.conflict-[0-9a-f]{8}$/);
  expect(crossing?.text).toMatch(/^one/);
  expect(crossing?.text).toContain(`yours is now ${store.path}${beside}`);
  expect(after?.text).toBe(`shared.md\n${beside?.slice(1)}\napi`);
  expect(await contents(store.id)).toEqual({ "/shared.md": "api", [beside ?? ""]: "two" });
});

test("what a dead server and dead hands leave behind is stored once", async () => {
  const store = await newStore();
  const talk = await Conversation.open(world(), attach({ memory_store_id: store.id }));
  await talk.say(script(bash(`echo 1 > ${store.path}/one`), answer("done")));
  await talk.afterTurns(1);
  // A process of the sandbox writes after the call, and the hands die before anybody looks.
  await talk.say(
    script(
      bash(`(sleep 0.3; echo 2 > ${store.path}/two; echo late > late) & true`),
      answer("done"),
    ),
  );
  await talk.afterTurns(2);
  await until("the late file", () => workspaceFile(world(), "late"));
  const pid = handsPid(world());
  if (pid === undefined) throw new Error("there are no hands");
  process.kill(pid, "SIGKILL");
  await until("the end of the hands", async () => !isAlive(pid) || undefined);
  await world().restart();
  await talk.say(script(bash(`ls ${store.path}`), bash("true"), answer("done")));
  const history = await talk.afterTurns(3);
  expect(resultsOf(history).at(-2)?.text).toBe("one\ntwo");
  expect(await versions(store.id)).toEqual([`created /one ${talk.id}`, `created /two ${talk.id}`]);
});

test.each(["its sandbox", "its hands"])(
  "what a command wrote before the death of %s is stored with its error",
  async (victim) => {
    const store = await newStore({ "/a.md": "alpha\n" });
    const talk = await Conversation.open(world(), attach({ memory_store_id: store.id }));
    await talk.say(script(bash("true"), answer("done")));
    await talk.afterTurns(1);
    const marker = `written-${names}`;
    const write = `cd ${store.path}; echo beta >> a.md; echo new > new.md; touch /workspace/${marker}`;
    await talk.say(script(bash(`${write}; sleep 600`), answer("done")));
    await until("what is written", () => workspaceFile(world(), marker));
    const pids = victim === "its hands" ? [handsPid(world()) ?? 0] : sandboxPids(world());
    for (const pid of pids) process.kill(pid, "SIGKILL");
    const [, died] = resultsOf(await talk.afterTurns(2));
    expect(died).toEqual({ text: expect.stringMatching(/unknown/), isError: true });
    expect(await contents(store.id)).toEqual({ "/a.md": "alpha\nbeta\n", "/new.md": "new\n" });
    // Once, though the next sandbox still has it.
    await talk.say(script(bash(`cat ${store.path}/*`), answer("done")));
    expect(resultsOf(await talk.afterTurns(3)).at(-1)?.text).toBe("alpha\nbeta\nnew");
    const made = (await versions(store.id)).slice(1);
    expect(made.toSorted()).toEqual([`created /new.md ${talk.id}`, `modified /a.md ${talk.id}`]);
  },
);

test.each([
  // The fourth append is that of the call's result.
  "serve.append.before:4",
  "serve.append.after:4",
  "hands.memory.after_report:1",
])("a change is stored once when %s is the last thing that happens", async (point) => {
  const store = await newStore();
  await end(handsPid(world()));
  const isOfHands = point.startsWith("hands");
  if (!isOfHands) {
    await world().kill();
    await world().start(["env", `DROVER_TEST_FAIL_POINT=${point}`]);
  }
  const victim = isOfHands ? await world().startMortalHands(point) : world().pid;
  const talk = await Conversation.open(world(), attach({ memory_store_id: store.id }));
  await talk.say(script(bash(`echo 1 > ${store.path}/one`), bash("true"), answer("done")));
  await until(`the death at ${point}`, () => !isAlive(victim) || undefined);
  // Others, without the fail point.
  if (!isOfHands) await world().restart();
  await talk.afterTurns(1);
  await talk.say(script(bash(`cat ${store.path}/one`), answer("done")));
  expect(resultsOf(await talk.afterTurns(2)).at(-1)).toEqual({ text: "1", isError: false });
  expect(await versions(store.id)).toEqual([`created /one ${talk.id}`]);
});

async function end(pid: number | undefined): Promise<void> {
  if (pid === undefined || !isAlive(pid)) return;
  process.kill(pid, "SIGKILL");
  await until("the end of the hands", () => !isAlive(pid) || undefined);
}
