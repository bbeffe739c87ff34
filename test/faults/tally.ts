import type { WorldResult } from "./crowd.ts";
import type { DeathRecord, Manner } from "./deaths.ts";
import { POINTS } from "./plan.ts";

/** What one block of seeds gave; a line of the file that a campaign goes on from. */
export interface BlockResult {
  readonly firstSeed: number;
  readonly lastSeed: number;
  readonly ms: number;
  readonly worlds: readonly WorldResult[];
  /** Requests that the strict double refused. */
  readonly refusals: readonly string[];
}

export function brokenIn({ worlds, refusals }: BlockResult): readonly string[] {
  const refused = refusals.map((message) => `the model's API refused a request: ${message}`);
  return [...worlds.flatMap(({ broken }) => broken), ...refused];
}

/** The points at which nothing has died yet. */
export function unvisited(blocks: readonly BlockResult[]) {
  const visited = new Set(hits(blocks).map(({ point }) => point));
  return [...POINTS.serve, ...POINTS.hands].filter((name) => !visited.has(name));
}

/** The whole campaign as text. */
export function tally(blocks: readonly BlockResult[]): string {
  const worlds = blocks.flatMap((block) => block.worlds);
  const deaths = worlds.flatMap((world) => world.deaths);
  const ms = sum(blocks, (block) => block.ms);
  const kills = deaths.filter(({ manner }) => manner !== "not_started");
  const manner = (name: string) => deaths.filter((death) => death.manner === name).length;
  const lines = [
    `${kills.length} kills in ${Math.round(ms / 1000)} s (${Math.round(ms / Math.max(kills.length, 1))} ms each): ` +
      `${manner("point")} at a fail point, ${manner("time")} at a random moment, ` +
      `${manner("missed")} by force because their point was not reached in time; ` +
      `${manner("not_started")} hands were never needed`,
    `sessions in a turn at a kill: ${busyLine(kills)}`,
    `${sum(worlds, ({ frozen }) => frozen)} servers frozen, replaced and thawed; ` +
      `${sum(worlds, ({ locked }) => locked)} froze with the store's lock`,
    worldLine(worlds),
    `calls answered: ${words(merged(worlds.map(({ calls }) => calls)))}`,
    `session errors: ${words(merged(worlds.map(({ errors }) => errors)))}`,
    `refusals of the model's API: ${sum(blocks, ({ refusals }) => refusals.length)}`,
    "",
    ...pointTable(blocks),
  ];
  return lines.join("\n");
}

function busyLine(kills: readonly DeathRecord[]): string {
  const busy = kills.map((death) => death.busy);
  const mean = sum(busy, (count) => count) / Math.max(busy.length, 1);
  const several = busy.filter((count) => count > 1).length;
  return `${mean.toFixed(1)} on average, several at ${several} of ${busy.length}`;
}

function worldLine(worlds: readonly WorldResult[]): string {
  const of = (key: "sessions" | "deleted" | "turns" | "interrupts" | "messages" | "events") =>
    sum(worlds, (world) => world[key]);
  return (
    `${of("sessions")} sessions (${of("deleted")} deleted), ${of("turns")} turns, ` +
    `${of("messages")} messages (${sum(worlds, (world) => world.unacknowledged)} not acknowledged), ` +
    `${of("interrupts")} interrupts, ${of("events")} events, ` +
    `${sum(worlds, (world) => world.lostRequests)} model requests lost and asked again`
  );
}

function pointTable(blocks: readonly BlockResult[]): readonly string[] {
  const counts = Map.groupBy(hits(blocks), ({ point }) => point);
  const missed = Map.groupBy(deathsOf(blocks, "missed"), ({ point }) => point);
  return [
    `${"fail point".padEnd(34)}${"deaths".padStart(8)}${"missed".padStart(8)}`,
    ...[...POINTS.serve, ...POINTS.hands].map((name) => {
      const count = (of: Map<string, unknown[]>) => String(of.get(name)?.length ?? 0).padStart(8);
      return `${name.padEnd(34)}${count(counts)}${count(missed)}`;
    }),
  ];
}

function hits(blocks: readonly BlockResult[]): readonly DeathRecord[] {
  return deathsOf(blocks, "point");
}

function deathsOf(blocks: readonly BlockResult[], manner: Manner): readonly DeathRecord[] {
  const deaths = blocks.flatMap(({ worlds }) => worlds.flatMap((world) => world.deaths));
  return deaths.filter((death) => death.manner === manner);
}

function merged(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const all: Record<string, number> = {};
  for (const count of counts) {
    for (const [word, times] of Object.entries(count)) all[word] = (all[word] ?? 0) + times;
  }
  return all;
}

function words(counts: Readonly<Record<string, number>>): string {
  const list = Object.entries(counts).map(([word, times]) => `${times} ${word}`);
  return list.length === 0 ? "none" : list.join(", ");
}

function sum<T>(list: readonly T[], of: (item: T) => number): number {
  return list.reduce((total, item) => total + of(item), 0);
}
