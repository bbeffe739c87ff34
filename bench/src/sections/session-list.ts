import { join } from "node:path";
import type Anthropic from "@anthropic-ai/sdk";
import { PostgresConnection } from "../../../packages/server/src/store/postgres/postgres-connection.ts";
import { openWriter } from "../../../packages/server/src/store/sqlite/sqlite-file.ts";
import { nowMs, sleep } from "../lib/clock.ts";
import { copySession, createTemplate, type Execute, type Seed } from "../lib/many-sessions.ts";
import { atMost, distribution, type Measurement, type Section } from "../lib/measurement.ts";
import { sample } from "../lib/sampling.ts";
import type { World } from "../lib/world.ts";

/** Milliseconds. */
const GOALS = [atMost("p95", 20)];
const START_MS = 30_000;
const LOOK_MS = 100;

interface Engine {
  readonly name: string;
  /** As `DROVER_DATABASE` takes it. */
  readonly database: string;
  /** Runs statements on the database of a server that has ended. */
  readonly open: (data: string) => Promise<{ execute: Execute; close: () => Promise<void> }>;
}

/** The first page of the list of sessions, unfiltered and by each filter, among very many. */
export async function measureSessionList(world: World): Promise<Section> {
  const count = world.plan.sessionList.sessions.toLocaleString("en");
  const measurements: Measurement[] = [];
  for (const engine of await enginesOf(world)) measurements.push(...(await measure(world, engine)));
  return {
    title: `The first page of ${count} sessions`,
    measurements,
    notes: [
      "From the call of sessions.list to its first page of 20 sessions, through the official SDK. The sessions are copies of one, made in the database by insert … select: the newest tenth is archived, one in 20,000 is running, the agent has one in 20 and the memory store is attached to one in 10. PostgreSQL runs on the same cores, its tables analyzed.",
    ],
  };
}

async function measure(world: World, engine: Engine): Promise<readonly Measurement[]> {
  const data = world.newDataFolder(`session-list-${engine.name}`);
  const { database } = engine;
  const seed = await fill(world, data, engine);
  await using server = await world.startServer({ data, database });
  const measurements: Measurement[] = [];
  for (const [filter, query] of Object.entries(queriesOf(seed))) {
    const taken = await sample(world.plan.sessionList, () => firstPage(server.client, query));
    const name = `${engine.name}: ${filter}`;
    measurements.push(distribution({ name, unit: "ms", goals: GOALS }, taken));
  }
  return measurements;
}

function queriesOf(seed: Seed): Readonly<Record<string, Anthropic.Beta.SessionListParams>> {
  return {
    "no filter": {},
    "oldest first": { order: "asc" },
    "with archived ones": { include_archived: true },
    "by agent": { agent_id: seed.agentId },
    "running ones": { statuses: ["running"] },
    "running and idle ones": { statuses: ["running", "idle"] },
    "by memory store": { memory_store_id: seed.memoryStoreId },
  };
}

async function firstPage(
  client: Anthropic,
  query: Anthropic.Beta.SessionListParams,
): Promise<number> {
  const startMs = nowMs();
  const { data } = await client.beta.sessions.list({ limit: 20, ...query });
  const endMs = nowMs();
  if (data.length === 0) throw new Error(`no session for ${JSON.stringify(query)}`);
  return endMs - startMs;
}

async function fill(world: World, data: string, engine: Engine): Promise<Seed> {
  const seed = await makeTemplate(world, data, engine);
  const { execute, close } = await engine.open(data);
  try {
    await copySession(execute, world.plan.sessionList.sessions);
    // PostgreSQL does so by itself where it runs for long; SQLite never does.
    if (engine.name !== "SQLite") await execute("analyze");
  } finally {
    await close();
  }
  return seed;
}

async function makeTemplate(world: World, data: string, { database }: Engine): Promise<Seed> {
  await using server = await world.startServer({ data, database });
  return await createTemplate(server.client);
}

async function enginesOf({ postgresUrl }: World): Promise<readonly Engine[]> {
  const sqlite: Engine = { name: "SQLite", database: "sqlite", open: openSqlite };
  if (postgresUrl === undefined) return [sqlite];
  const admin = await connect(postgresUrl("postgres"));
  await admin.execute("drop database if exists sessions");
  await admin.execute("create database sessions");
  await admin.close();
  const database = postgresUrl("sessions");
  return [sqlite, { name: "PostgreSQL", database, open: () => connect(database) }];
}

async function openSqlite(data: string) {
  const database = openWriter(join(data, "drover.db"), []);
  // What is lost with the machine is only the benchmark's.
  database.pragma("synchronous = off");
  return {
    execute: async (statement: string) => void database.exec(statement),
    close: async () => void database.close(),
  };
}

/** The server may still be starting. */
async function connect(url: string) {
  const connection = new PostgresConnection(url);
  const endMs = nowMs() + START_MS;
  for (;;) {
    try {
      await connection.connect();
      break;
    } catch (error) {
      if (nowMs() > endMs) throw error;
      await sleep(LOOK_MS);
    }
  }
  return {
    execute: async (statement: string) => void (await connection.run(statement)),
    close: () => connection.close(),
  };
}
