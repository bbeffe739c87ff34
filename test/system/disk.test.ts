import { chownSync, existsSync } from "node:fs";
import { answer, startMessagesApi, toolCall } from "@drover/testing";
import { expect, test } from "vitest";
import { Conversation, resultsOf } from "./support/conversation.ts";
import { lastWords, script } from "./support/last-words.ts";
import { useWorld, World } from "./support/world.ts";

const SETTINGS = { DROVER_SANDBOX_DISK_MB: "64", DROVER_SANDBOX_ENFORCE: "required" };
const world = useWorld({ ...SETTINGS, DROVER_SANDBOX_MEMORY_MB: "0" });

const isRoot = process.getuid?.() === 0;
/** Root can mount disks wherever there are loop devices. */
const canLimit = isRoot && existsSync("/dev/loop-control");
/** Of nobody. */
const UNPRIVILEGED = 1500;

const sandboxOf = async (at: World, session: string) => {
  const response = await fetch(`${at.url}/v1/drover/sessions/${session}/sandbox`, {
    headers: { "x-api-key": at.apiKey },
  });
  return { status: response.status, body: await response.json() };
};

test.skipIf(!canLimit)(
  "a full disk is told, and the session goes on after a deletion",
  async () => {
    const talk = await Conversation.open(world());
    expect((await sandboxOf(world(), talk.id)).status).toBe(404);
    const fill = toolCall("bash", { command: "X=kept; cat /dev/zero >big" });
    const write = toolCall("write", { file_path: "/workspace/more", content: "x".repeat(100_000) });
    const remove = toolCall("bash", { command: 'rm big; echo "$X"; echo on >more; cat more' });
    await talk.say(script(answer(fill), answer(write), answer(remove), answer("done")));
    const [filled, written, removed] = resultsOf(await talk.afterTurns(1));
    const full =
      "disk full: disk limit 64 MB (delete files in /workspace or /mnt/session/outputs to go on)";
    expect(filled).toEqual({
      text: `cat: write error: No space left on device\n\n${full}`,
      isError: true,
    });
    expect(written).toEqual({
      text: `write: /workspace/more: no space left; ${full}`,
      isError: true,
    });
    expect(removed).toEqual({ text: "kept\non", isError: false });
    expect(await sandboxOf(world(), talk.id)).toMatchObject({
      status: 200,
      body: {
        type: "session_sandbox",
        provider: "bubblewrap",
        mode: "root",
        limits: {
          memory_bytes: null,
          disk_bytes: { limit: 64 * 1024 * 1024, enforced: true },
          open_files: { limit: 4096, enforced: true },
        },
      },
    });
  },
);

test.skipIf(!isRoot).for([
  ["required", undefined],
  ["where_possible", { limit: 64 * 1024 * 1024, enforced: false }],
] as const)(
  "without root the limit is refused or said not to hold, if it is %s",
  async ([enforce, disk_bytes]) => {
    const settings = { ...SETTINGS, DROVER_SANDBOX_ENFORCE: enforce };
    const rootless = new World(await startMessagesApi({ script: lastWords() }), {
      ...settings,
      DROVER_SANDBOX_MEMORY_MB: "0",
    });
    try {
      chownSync(rootless.data, UNPRIVILEGED, UNPRIVILEGED);
      const user = [`--reuid=${UNPRIVILEGED}`, `--regid=${UNPRIVILEGED}`, "--clear-groups"];
      await rootless.start(["setpriv", ...user]);
      const talk = await Conversation.open(rootless);
      await talk.say(script(answer(toolCall("bash", { command: "echo alive" })), answer("done")));
      const [result] = resultsOf(await talk.afterTurns(1));
      const sandbox = await sandboxOf(rootless, talk.id);
      if (disk_bytes === undefined) {
        expect(result).toEqual({
          text: expect.stringMatching(
            /no sandbox could be had: the limit on the disk of a sandbox cannot be enforced here, and DROVER_SANDBOX_ENFORCE says that it is required: only root can mount a file system/,
          ),
          isError: true,
        });
        expect(sandbox.status).toBe(404);
      } else {
        expect(result).toEqual({ text: "alive", isError: false });
        expect(sandbox.body).toMatchObject({ mode: "rootless", limits: { disk_bytes } });
      }
    } finally {
      await rootless.close();
    }
  },
);
