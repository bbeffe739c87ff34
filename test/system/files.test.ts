import { toFile } from "@anthropic-ai/sdk";
import { answer, toolCall } from "@drover/testing";
import { expect, test } from "vitest";
import { Conversation, resultsOf } from "./support/conversation.ts";
import { handsPid, isAlive } from "./support/host.ts";
import { script } from "./support/last-words.ts";
import { until } from "./support/until.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();

const OUTPUTS = "/mnt/session/outputs";

test("uploads are mounted where they were asked for, and can only be read", async () => {
  const [first, second, third] = [
    await upload("a.csv", "a,b\n1,2\n"),
    await upload("b"),
    await upload("c"),
  ];
  const talk = await Conversation.open(world(), {
    resources: [
      { type: "file", file_id: first },
      { type: "file", file_id: second, mount_path: "in/data.txt" },
      { type: "file", file_id: third, mount_path: "/mnt/session/uploads/given.txt" },
    ],
  });
  const { resources } = await world().client.beta.sessions.retrieve(talk.id);
  const paths = resources.map((resource) => ("mount_path" in resource ? resource.mount_path : ""));
  expect(paths).toEqual([
    `/mnt/session/uploads/${first}`,
    "/mnt/session/uploads/in/data.txt",
    "/mnt/session/uploads/given.txt",
  ]);
  const write = "echo spoilt >> /mnt/session/uploads/given.txt";
  const remove = "rm -f /mnt/session/uploads/given.txt";
  const create = "touch /mnt/session/uploads/new";
  await talk.say(
    script(
      answer(toolCall("bash", { command: `cat ${paths.join(" ")}` })),
      answer(
        ...[write, remove, create].map((command) => toolCall("bash", { command })),
        toolCall("write", { file_path: "/mnt/session/uploads/in/data.txt", content: "spoilt" }),
      ),
      answer(toolCall("bash", { command: `cat ${paths.join(" ")}` })),
      answer("done"),
    ),
  );
  const [before, ...rest] = resultsOf(await talk.afterTurns(1));
  expect(before).toEqual({ text: "a,b\n1,2\nbc", isError: false });
  expect(rest.map(({ isError }) => isError)).toEqual([true, true, true, true, false]);
  expect(rest.at(-1)).toEqual(before);
});

test("what is left in the outputs folder is listed for the session, downloaded and deleted", async () => {
  const { files } = world().client.beta;
  const talk = await Conversation.open(world());
  const other = await Conversation.open(world());
  const put = (text: string) =>
    toolCall("bash", {
      command: `mkdir -p ${OUTPUTS}/deep; printf '${text}' > ${OUTPUTS}/deep/report.txt`,
    });
  await talk.say(
    script(
      answer(put("one"), toolCall("write", { file_path: `${OUTPUTS}/b.bin`, content: "\u0001" })),
      answer("done"),
    ),
  );
  await talk.afterTurns(1);
  const listed = await outputsOf(talk.id, 2);
  expect(
    listed.map(({ size_bytes, downloadable, scope }) => ({ size_bytes, downloadable, scope })),
  ).toEqual(
    [3, 1].map((size_bytes) => ({
      size_bytes,
      downloadable: true,
      scope: { type: "session", id: talk.id },
    })),
  );
  const [report] = listed;
  expect(report?.filename).toMatch(/report\.txt$/);
  expect(await contentOf(report?.id)).toBe("one");
  expect((await files.list({ scope_id: other.id })).data).toEqual([]);

  await talk.say(script(answer(put("two is longer")), answer("done")));
  await talk.afterTurns(2);
  const again = await outputsOf(talk.id, 2);
  const updated = again.find(({ filename }) => filename === report?.filename);
  expect(await contentOf(updated?.id)).toBe("two is longer");

  expect(await files.delete(updated?.id ?? "")).toMatchObject({ id: updated?.id });
  expect(await outputsOf(talk.id, 1)).toHaveLength(1);
  await expect(files.retrieveMetadata(updated?.id ?? "")).rejects.toMatchObject({ status: 404 });
});

test("an upload cannot be downloaded, also not the copy that a session got", async () => {
  const { files, sessions } = world().client.beta;
  const id = await upload("secret.txt", "for the agent only");
  await expect(files.download(id)).rejects.toMatchObject({
    status: 400,
    errorCode: "file_not_downloadable",
  });
  const talk = await Conversation.open(world(), { resources: [{ type: "file", file_id: id }] });
  const [resource] = (await sessions.retrieve(talk.id)).resources;
  const copy = resource?.type === "file" ? resource.file_id : "";
  expect(copy).not.toBe(id);
  await expect(files.download(copy)).rejects.toMatchObject({ status: 400 });
});

test("a deleted upload stays readable in the session that has it", async () => {
  const id = await upload("kept.txt", "kept");
  const talk = await Conversation.open(world(), {
    resources: [{ type: "file", file_id: id, mount_path: "kept.txt" }],
  });
  await world().client.beta.files.delete(id);
  const look = answer(toolCall("bash", { command: "cat /mnt/session/uploads/kept.txt" }));
  await talk.say(script(look, answer("done")));
  expect(resultsOf(await talk.afterTurns(1))).toEqual([{ text: "kept", isError: false }]);
});

test("files that are added and taken out between turns are so for the session's first sandbox", async () => {
  const { resources } = world().client.beta.sessions;
  const [kept, added, gone] = [await upload("kept"), await upload("added"), await upload("gone")];
  const mount = (file_id: string, mount_path: string) => ({
    type: "file" as const,
    file_id,
    mount_path,
  });
  const talk = await Conversation.open(world(), {
    resources: [mount(kept, "kept"), mount(gone, "gone")],
  });
  await talk.say(script(answer("hello")));
  await talk.afterTurns(1);
  await resources.add(talk.id, mount(added, "added"));
  for await (const resource of resources.list(talk.id)) {
    if (resource.type !== "file" || !resource.mount_path.endsWith("/gone")) continue;
    await resources.delete(resource.id, { session_id: talk.id });
  }
  const look = answer(toolCall("bash", { command: "cd /mnt/session/uploads; tail -n +1 -q *" }));
  await talk.say(script(look, answer("done")));
  expect(resultsOf(await talk.afterTurns(2))).toEqual([{ text: "addedkept", isError: false }]);
});

test("files come and go in a sandbox that lives, from one command to the next", async () => {
  const { files, sessions } = world().client.beta;
  const mount = async (name: string) => ({
    type: "file" as const,
    file_id: await upload(name),
    mount_path: name,
  });
  const bash = (command: string) => answer(toolCall("bash", { command }));
  const talk = await Conversation.open(world(), { resources: [await mount("first")] });
  await talk.say(script(bash("shell=alive; cd /mnt/session/uploads; ls"), answer("done")));
  await talk.afterTurns(1);
  const second = await sessions.resources.add(talk.id, await mount("second"));
  await sessions.resources.add(talk.id, await mount("deep/third"));
  const spoil = "echo spoilt >> second || rm -f second || touch new || echo kept";
  await talk.say(script(bash(`echo $shell; cat second deep/third; ${spoil}`), answer("done")));
  await talk.afterTurns(2);
  await sessions.resources.delete(second.id, { session_id: talk.id });
  const { resources } = await sessions.retrieve(talk.id);
  const copies = resources.flatMap((each) => (each.type === "file" ? [each.file_id] : []));
  expect(copies).toHaveLength(2);
  // The session's own copy: its resource goes with it.
  await files.delete(copies[0] ?? "");
  expect((await sessions.retrieve(talk.id)).resources).toMatchObject([
    { mount_path: "/mnt/session/uploads/deep/third" },
  ]);
  await talk.say(script(bash("echo $shell; find . -type f"), answer("done")));
  const [one, two, three] = resultsOf(await talk.afterTurns(3));
  expect(one?.text).toBe("first");
  expect(two?.text).toMatch(/^alive\nseconddeep\/third.*Read-only.*kept$/s);
  expect(three?.text).toBe("alive\n./deep/third");
});

test("outputs are had while the command runs, and after its hands are killed", async () => {
  const talk = await Conversation.open(world());
  // Never twice the same for long: what is being written is for later.
  const write = `while date +%N > ${OUTPUTS}/busy.txt; do sleep 0.05; done`;
  const command = `cd ${OUTPUTS}; printf early > early.txt; ln -s /etc/passwd link; ${write}`;
  await talk.say(script(answer(toolCall("bash", { command })), answer("done")));
  const early = await until("what is not written any more", async () => {
    const { data } = await world().client.beta.files.list({ scope_id: talk.id });
    return data.find(({ filename }) => filename === "early.txt");
  });
  expect(await contentOf(early.id)).toBe("early");
  process.kill(handsPid(world()) ?? 0, "SIGKILL");
  await talk.afterTurns(1);
  const after = await outputsOf(talk.id, 2);
  expect(after.map(({ filename }) => filename).toSorted()).toEqual(["busy.txt", "early.txt"]);
  const busy = after.find(({ filename }) => filename === "busy.txt");
  expect(await contentOf(busy?.id)).toMatch(/^(\d+\n)?$/);
});

test("an output that was deleted stays so until its content changes, whatever dies in between", async () => {
  const { files } = world().client.beta;
  const talk = await Conversation.open(world());
  const turn = async (turns: number, command: string) => {
    await talk.say(script(answer(toolCall("bash", { command })), answer("done")));
    await talk.afterTurns(turns);
  };
  await turn(1, `cd ${OUTPUTS}; printf first > deleted.txt; printf other > kept.txt`);
  const listed = await outputsOf(talk.id, 2);
  const deleted = listed.find(({ filename }) => filename === "deleted.txt");
  await files.delete(deleted?.id ?? "");
  const pid = handsPid(world()) ?? 0;
  process.kill(pid, "SIGKILL");
  await until("the hands to be gone", () => !isAlive(pid) || undefined);
  await turn(
    2,
    `cat ${OUTPUTS}/deleted.txt; touch ${OUTPUTS}/*; printf third > ${OUTPUTS}/new.txt`,
  );
  const after = await outputsOf(talk.id, 2);
  expect(after.map(({ filename }) => filename).toSorted()).toEqual(["kept.txt", "new.txt"]);
  expect(resultsOf(await talk.history()).at(-1)?.text).toBe("first");
  await turn(3, `printf again > ${OUTPUTS}/deleted.txt`);
  const back = (await outputsOf(talk.id, 3)).find(({ filename }) => filename === "deleted.txt");
  expect(back?.id).not.toBe(deleted?.id);
  expect(await contentOf(back?.id)).toBe("again");
});

test("what a program in the background leaves is there while the session rests", async () => {
  const talk = await Conversation.open(world());
  const wait = "until [ -e /workspace/go ]; do sleep 0.05; done";
  const command = `cd ${OUTPUTS}; (${wait}; printf late > late.txt) > /dev/null 2>&1 & echo begun`;
  const after = "(sleep 0.5; touch /workspace/go) > /dev/null 2>&1 & echo soon";
  await talk.say(script(answer(toolCall("bash", { command })), answer("done")));
  await talk.afterTurns(1);
  const { data } = await world().client.beta.files.list({ scope_id: talk.id });
  expect(data).toEqual([]);
  await talk.say(script(answer(toolCall("bash", { command: after })), answer("done")));
  await talk.afterTurns(2);
  const [late] = await outputsOf(talk.id, 1);
  expect([late?.filename, await contentOf(late?.id)]).toEqual(["late.txt", "late"]);
});

test("outputs that were written before the server was killed are there afterwards", async () => {
  const talk = await Conversation.open(world());
  const command = `echo early > ${OUTPUTS}/early.txt; sleep 1.5; echo late > ${OUTPUTS}/late.txt`;
  await talk.say(script(answer(toolCall("bash", { command })), answer("done")));
  await talk.event(({ type }) => type === "agent.tool_use");
  await world().restart();
  await talk.afterTurns(1);
  const names = (await outputsOf(talk.id, 2)).map(({ filename }) => filename);
  expect(names.toSorted()).toEqual(["early.txt", "late.txt"]);
});

async function upload(name: string, content = name): Promise<string> {
  const file = await toFile(Buffer.from(content), name);
  return (await world().client.beta.files.upload({ file })).id;
}

/** Largest first. */
async function outputsOf(sessionId: string, count: number) {
  const files = await until(`${count} outputs of ${sessionId}`, async () => {
    const { data } = await world().client.beta.files.list({ scope_id: sessionId });
    return data.length === count ? data : undefined;
  });
  return files.toSorted((left, right) => right.size_bytes - left.size_bytes);
}

async function contentOf(fileId = ""): Promise<string> {
  return await (await world().client.beta.files.download(fileId)).text();
}
