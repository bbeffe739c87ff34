import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { answer, toolCall } from "@drover/testing";
import { expect, onTestFinished, test } from "vitest";
import { drover, temporaryFolder } from "../support/drover.ts";
import {
  Conversation,
  isType,
  messagesOf,
  resultsOf,
  typesOf,
  userMessage,
} from "./support/conversation.ts";
import { endWait, longSleep, processesWith, waiting } from "./support/host.ts";
import { holdBack, script } from "./support/last-words.ts";
import { until } from "./support/until.ts";
import { errorOf, send } from "./support/wire.ts";
import { newWorld, type World } from "./support/world.ts";

test("a full disk is answered with 503 and its reason, and all goes on once there is room", async () => {
  const world = await newWorld();
  const disk = await startOnSmallDisk(world);
  const filler = join(disk, "filler");
  const talk = await Conversation.open(world);
  const events = `/v1/sessions/${talk.id}/events`;
  const thought = holdBack(answer("thought about while it was full"));
  await talk.say(script(thought.answer));
  await until("the request", () => world.model.active || undefined);
  fill(filler);

  const refused = await until("a refusal", async () => {
    const body = { events: [userMessage("was refused")] };
    const attempt = await send(world, { method: "POST", path: events, body });
    // What fits into the room that the database has in its own file may still be taken.
    return attempt.status === 200 ? undefined : attempt;
  });
  expect(refused.status).toBe(503);
  expect(refused.headers["retry-after"]).toMatch(/^\d+$/);
  expect(errorOf(refused).message).toContain("The disk that holds the database is full");
  thought.letGo();
  await until("the answer of the model", () => world.model.active === 0 || undefined);
  const health = await send(world, { method: "GET", path: "/health" });
  expect([health.status, JSON.parse(health.text).message]).toEqual([
    503,
    expect.stringContaining("full"),
  ]);
  expect((await send(world, { method: "GET", path: "/v1/agents" })).status).toBe(200);
  const during = await talk.history();
  const listening = await talk.listen();
  expect(typesOf(during)).not.toContain("agent.message");

  rmSync(filler);
  await until("health", async () => {
    return (await send(world, { method: "GET", path: "/health" })).status === 200 || undefined;
  });
  await listening.event(({ type }) => type === "session.status_idle");
  await listening.close();
  const history = await talk.history();
  expect(history.slice(0, during.length)).toEqual(during);
  expect(messagesOf(history)[0]).toBe("thought about while it was full");
  await talk.say("still there?");
  await until("the next answer", async () => {
    return messagesOf(await talk.history()).includes("You said: still there?") || undefined;
  });
  expect(history.filter(isType("session.error"))).toEqual([]);
});

test("a command that ends on a full disk keeps its result until there is room", async () => {
  const world = await newWorld();
  const disk = await startOnSmallDisk(world);
  const filler = join(disk, "filler");
  onTestFinished(() => {
    process.kill(JSON.parse(readFileSync(join(disk, "hands.json"), "utf8")).pid, "SIGKILL");
  });
  const talk = await Conversation.open(world);
  const marker = longSleep();
  const command = `echo begun; ${waiting(marker)}; echo over; echo x > here || echo no room`;
  await talk.say(
    script(
      answer(toolCall("bash", { command })),
      answer(toolCall("bash", { command: "ls" })),
      answer("done"),
    ),
  );
  await until("the command", () => processesWith(marker)[0]);
  fill(filler);
  await endWait(marker);
  await until("the failure", async () => {
    return (await send(world, { method: "GET", path: "/health" })).status === 503 || undefined;
  });
  const during = typesOf(await talk.history());
  expect(during).not.toContain("agent.tool_result");
  rmSync(filler);
  const history = await talk.afterTurns(1);
  expect(typesOf(history).slice(0, during.length)).toEqual(during);
  expect(resultsOf(history)[0]?.text).toMatch(/^begun\nover\n.*no room/s);
  expect(resultsOf(history)).toHaveLength(2);
  expect(messagesOf(history)).toEqual(["done"]);
});

test("a database of a newer Drover is refused with a sentence, and left as it is", async () => {
  const world = await newWorld();
  await world.start();
  drover(["stop"], { env: { DROVER_DATA: world.data } });
  const database = new DatabaseSync(join(world.data, "drover.db"));
  database.exec("insert into migrations (version, name) values (9999, 'of the future')");
  database.close();
  const { status, lines } = serve(world.data);
  expect({ status, lines }).toEqual({
    status: 1,
    lines: [expect.stringMatching(/^The database has schema 9999, .* newer Drover/)],
  });
});

test("a database that is none is refused with a sentence, and left as it is", () => {
  const data = temporaryFolder();
  const file = join(data, "drover.db");
  writeFileSync(file, "this is the only copy of somebody's thesis\n".repeat(1_000));
  const { size } = statSync(file);
  expect(serve(data)).toEqual({
    status: 1,
    lines: [expect.stringMatching(/not a database/)],
  });
  expect(statSync(file).size).toBe(size);
});

/** Answers where the server's data folder, a disk of its own, is seen from here. */
async function startOnSmallDisk(world: World): Promise<string> {
  const disk = ["--size", String(12 * 1024 * 1024), "--tmpfs", world.data];
  await world.start(["bwrap", "--dev-bind", "/", "/", "--die-with-parent", ...disk]);
  return join(`/proc/${world.pid}/root`, world.data);
}

function fill(file: string): void {
  const chunk = Buffer.alloc(64 * 1024);
  for (let bytes = chunk.length; bytes > 0; bytes = bytes >> 1) {
    for (;;) {
      try {
        writeFileSync(file, chunk.subarray(0, bytes), { flag: "a" });
      } catch {
        break;
      }
    }
  }
}

function serve(data: string): { status: number | null; lines: string[] } {
  const env = { DROVER_DATA: data, DROVER_PORT: "0", DROVER_LOG_LEVEL: "silent" };
  const { status, stderr } = drover(["serve"], { env });
  return { status, lines: stderr.trim().split("\n") };
}
