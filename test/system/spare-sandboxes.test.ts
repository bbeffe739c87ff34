import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { toFile } from "@anthropic-ai/sdk";
import { answer, toolCall } from "@drover/testing";
import { expect, test } from "vitest";
import { drover } from "../support/drover.ts";
import { Conversation, resultsOf } from "./support/conversation.ts";
import { isAlive, sandboxPids } from "./support/host.ts";
import { script } from "./support/last-words.ts";
import { until } from "./support/until.ts";
import { useWorld } from "./support/world.ts";

/** Sandboxes that are made before they are needed, on a started server, by the official client. */

const SPARES = 2;
const world = useWorld({ DROVER_SANDBOX_WARM: String(SPARES) });

test("a new session's first call is run in a sandbox that was there before, and all goes on from there", {
  timeout: 120_000,
}, async () => {
  const first = await Conversation.open(world());
  await bash(first, 1, "echo first");
  await spares(SPARES);
  const before = launches();
  const { id: file_id } = await world().client.beta.files.upload({
    file: await toFile(Buffer.from("given"), "given.txt"),
  });
  const talk = await Conversation.open(world(), {
    resources: [{ type: "file", file_id, mount_path: "given.txt" }],
  });
  const command =
    "X=kept; cat /mnt/session/uploads/given.txt; ls -A /workspace; echo mine >file; echo out >/mnt/session/outputs/out.txt";
  expect(await bash(talk, 1, command)).toBe("given");
  const hand = await handOf(talk);
  const launch = launches().get(hand);
  const was = [...before].find(([, id]) => id === launch)?.[0];
  expect(was).toMatch(/^spare-/);
  const outputs = await until("the output", async () => {
    const { data } = await world().client.beta.files.list({ scope_id: talk.id });
    const left = data.filter(({ downloadable }) => downloadable);
    return left.length > 0 ? left : undefined;
  });
  expect(outputs.map(({ filename }) => filename)).toEqual(["out.txt"]);
  // The server is not who has it.
  await world().restart();
  expect(await bash(talk, 2, "echo $X; cat file")).toBe("kept\nmine");
  expect(launches().get(hand)).toBe(launch);
  await spares(SPARES);
  const lost = sandboxPids(world());
  expect(lost).toHaveLength(2 + SPARES);
  // The hands are, and spares are theirs.
  const { pid } = JSON.parse(readFileSync(join(world().data, "hands.json"), "utf8"));
  process.kill(pid, "SIGKILL");
  expect(await bash(talk, 3, "echo [$X]; cat file")).toBe("[]\nmine");
  expect(lost.filter(isAlive)).toEqual([]);
  // Sessions that have files say nothing of what new ones are like.
  expect(spareIds()).toEqual([]);
  for (const { id } of [first, talk]) await world().client.beta.sessions.delete(id);
  await until("the end of the hands", () => hands().length === 0 || undefined);
});

test("spares are nobody's, and end with the hands", async () => {
  const talk = await Conversation.open(world());
  await bash(talk, 1, "true");
  await spares(SPARES);
  const pids = sandboxPids(world());
  const hand = await handOf(talk);
  await world().client.beta.sessions.delete(talk.id);
  await until("the end of the hand", () => !hands().includes(hand) || undefined);
  expect(spareIds()).toHaveLength(SPARES);
  drover(["stop", "--hands"], { env: { DROVER_DATA: world().data } });
  expect([hands(), pids.filter(isAlive)]).toEqual([[], []]);
});

async function bash(talk: Conversation, turns: number, command: string): Promise<string> {
  await talk.say(script(answer(toolCall("bash", { command })), answer("done")));
  const results = resultsOf(await talk.afterTurns(turns));
  return results.at(-1)?.text.trim() ?? "no result";
}

async function handOf({ id }: Conversation): Promise<string> {
  const hand = await world().client.get<{ id: string }>(`/v1/drover/sessions/${id}/hand`);
  return hand.id;
}

/** Waits for so many that can be used. */
async function spares(count: number): Promise<void> {
  await until(`${count} spares`, () => {
    const log = readFileSync(join(world().data, "hands.log"), "utf8").split("\n");
    const ready = log.filter((line) => line.includes('"spare_ready"')).at(-1) ?? "";
    return (spareIds().length === count && ready.includes(`"spares":${count}`)) || undefined;
  });
}

function hands(): string[] {
  const folder = join(world().data, "hands");
  return existsSync(folder) ? readdirSync(folder) : [];
}

function spareIds(): string[] {
  return hands().filter((id) => id.startsWith("spare-"));
}

/** By the folder that each sandbox is in. */
function launches(): Map<string, string> {
  return new Map(
    hands().flatMap((id) => {
      const file = join(world().data, "hands", id, "sandbox.json");
      if (!existsSync(file)) return [];
      return [[id, JSON.parse(readFileSync(file, "utf8")).launch_id] as const];
    }),
  );
}
