import type Anthropic from "@anthropic-ai/sdk";
import { MODEL_ID } from "./model.ts";

/** What the seeded sessions were made of, to ask for some of them. */
export interface Seed {
  /** Has every twentieth session. */
  readonly agentId: string;
  /** Attached to every tenth session. */
  readonly memoryStoreId: string;
}

/** Statements that both engines take; each its own transaction. */
export type Execute = (statement: string) => Promise<void>;

/** The one session that all others are copies of, made through the API. */
export async function createTemplate(client: Anthropic): Promise<Seed> {
  const agent = await client.beta.agents.create({
    name: "benchmark",
    model: MODEL_ID,
    system: "You are measured.",
    tools: [{ type: "agent_toolset_20260401" }],
  });
  const environment = await client.beta.environments.create({ name: "benchmark" });
  const store = await client.beta.memoryStores.create({ name: "benchmark" });
  await client.beta.sessions.create({
    agent: agent.id,
    environment_id: environment.id,
    title: "One of many",
    resources: [{ type: "memory_store", memory_store_id: store.id }],
  });
  return { agentId: agent.id, memoryStoreId: store.id };
}

/** Sessions copied by one statement. */
const AT_ONCE = 50_000;
const COPY = "'sesn_copy'";

/**
 * Copies the only session of the database `count` times, a second apart, so that lists meet what is hard
 * for them: the newest tenth is archived, one in 20,000 runs, the template's agent has one in 20 and its
 * memory store is attached to one in 10.
 */
export async function copySession(execute: Execute, count: number): Promise<void> {
  for (let from = 0; from < count; from += AT_ONCE) {
    const to = Math.min(from + AT_ONCE, count);
    for (const statement of statementsFor({ from, to, count })) await execute(statement);
  }
}

function statementsFor({ from, to, count }: { from: number; to: number; count: number }) {
  const isArchived = `n.i * 10 > ${count} * 9`;
  const isNew = `s.id > ${COPY} || ${digits(`${from}`, 10_000_000)} and s.id <= ${COPY} || ${digits(`${to}`, 10_000_000)}`;
  return [
    `insert into sessions (
      workspace_id, id, thread_id, hand_id, environment_id, agent_id, agent_version, status, totals,
      created_at, updated_at, archived_at, last_seq, last_processed_at, last_arrival, woken, epoch,
      claims, hand_disposed
    )
    with recursive n(i) as (select ${from + 1} union all select i + 1 from n where i < ${to})
    select
      s.workspace_id, ${COPY} || ${digits("n.i", 10_000_000)}, s.thread_id, s.hand_id,
      s.environment_id, case when n.i % 20 = 3 then s.agent_id else 'agent_' || (n.i % 20) end,
      s.agent_version,
      case when ${isArchived} then 'terminated' when n.i % 20000 = 7 then 'running' else 'idle' end,
      s.totals, ${timeOf("n.i")}, s.updated_at,
      case when ${isArchived} then s.updated_at else null end,
      0, '', 0, 0, 0, 0, 0
    from n, sessions s where s.id not like 'sesn_copy%'`,
    `insert into session_definitions (
      session_key, workspace_id, title, metadata, agent, resources, vault_ids, recipe
    )
    select
      s.session_key, s.workspace_id, d.title, d.metadata, d.agent, d.resources, d.vault_ids, d.recipe
    from sessions s, session_definitions d, sessions o
    where o.id not like 'sesn_copy%' and d.session_key = o.session_key and ${isNew}`,
    `insert into session_memory_stores (
      workspace_id, memory_store_id, session_key, session_id, created_at, archived_at
    )
    select s.workspace_id, m.memory_store_id, s.session_key, s.id, s.created_at, s.archived_at
    from sessions s, session_memory_stores m, sessions o
    where o.id not like 'sesn_copy%' and m.session_key = o.session_key and ${isNew}
      and substr(s.id, 16) = '4'`,
  ];
}

/** Seconds since the year began, as the text of a time. */
function timeOf(seconds: string): string {
  const day = digits(`${seconds} / 86400`, 101);
  const [hour, minute, second] = [
    `${seconds} / 3600 % 24`,
    `${seconds} / 60 % 60`,
    `${seconds} % 60`,
  ];
  return `'2026-01-' || ${day} || 'T' || ${digits(hour, 100)} || ':' || ${digits(minute, 100)} || ':' || ${digits(second, 100)} || '.000Z'`;
}

/** A number as text with leading zeros; `base` is a power of ten, and what is counted from. */
function digits(number: string, base: number): string {
  return `substr('' || (${base} + ${number}), 2)`;
}
