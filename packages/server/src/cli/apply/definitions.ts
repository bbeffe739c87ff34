import {
  AgentCreateParams,
  EnvironmentCreateParams,
  listProblems,
  type MultiagentParams,
} from "@drover/api";
import { z } from "zod";
import { isRecord } from "../../lib/is-record.ts";
import type { Problem, SourceDocument } from "./source-document.ts";

/** What files define. Names are unique within a kind. */

const Kind = z.enum(["environment", "skill", "agent"]);
export type Kind = z.infer<typeof Kind>;

export interface Definition<K extends Kind, Params> {
  readonly kind: K;
  readonly name: string;
  readonly params: Params;
  readonly source: SourceDocument;
}
/** Where `params` name another definition, a token stands for the name; see `Names`. */
export type AgentDefinition = Definition<"agent", AgentCreateParams> & { readonly names: Names };
export type EnvironmentDefinition = Definition<"environment", EnvironmentCreateParams>;

export interface SkillParams {
  /** Relative to the folder of the file that names it. */
  readonly path: string;
  readonly display_name?: string | undefined;
}
export type SkillDefinition = Definition<"skill", SkillParams>;

/** A name that an agent's definition uses, and where. */
export interface NameUse {
  readonly name: string;
  readonly path: readonly PropertyKey[];
}
/** By token: an id that no server gives out. */
export type Names = ReadonlyMap<string, NameUse>;

export interface Definitions {
  readonly environments: readonly EnvironmentDefinition[];
  readonly skills: readonly SkillDefinition[];
  readonly agents: readonly AgentDefinition[];
  readonly problems: readonly Problem[];
}

const AnyFile = z.looseObject({ kind: Kind });
const AgentFile = AgentCreateParams.extend({ kind: z.literal("agent") });
const EnvironmentFile = EnvironmentCreateParams.extend({ kind: z.literal("environment") });
const SkillFile = z.strictObject({
  kind: z.literal("skill"),
  path: z.string().min(1).max(4096),
  display_name: z.string().min(1).max(255).optional(),
});

/** Reads documents by the API's own schemas. Says everything that is wrong, not only the first. */
export function readDefinitions(documents: readonly SourceDocument[]): Definitions {
  const problems: Problem[] = [];
  const environments: EnvironmentDefinition[] = [];
  const skills: SkillDefinition[] = [];
  const agents: AgentDefinition[] = [];
  const parse: Parse = (schema, source, value) => {
    const result = schema.safeParse(value);
    if (result.success) return [result.data];
    for (const { path, message } of listProblems(result.error)) {
      problems.push({ place: source.placeOf(path), message });
    }
    return [];
  };
  for (const source of documents) {
    for (const { kind } of parse(AnyFile, source, source.value)) {
      if (kind === "environment") environments.push(...environmentsOf(source, parse));
      else if (kind === "skill") skills.push(...skillsOf(source, parse));
      else agents.push(...agentsOf(source, parse));
    }
  }
  const twice = [...repeated(environments), ...repeated(agents)];
  return { environments, skills, agents, problems: [...problems, ...twice] };
}

/** The value, or nothing if there is something wrong with it, which is then noted. */
type Parse = <T>(schema: z.ZodType<T>, source: SourceDocument, value: unknown) => [T] | [];

function environmentsOf(source: SourceDocument, parse: Parse): EnvironmentDefinition[] {
  return parse(EnvironmentFile, source, source.value).map((file) => ({
    name: file.name,
    source,
    ...withoutKind(file),
  }));
}

function skillsOf(source: SourceDocument, parse: Parse): SkillDefinition[] {
  return parse(SkillFile, source, source.value).map((file) => ({
    name: file.path,
    source,
    ...withoutKind(file),
  }));
}

function agentsOf(source: SourceDocument, parse: Parse): AgentDefinition[] {
  const names = new Map<string, NameUse>();
  return parse(AgentFile, source, withTokens(source.value, names)).map((file) => ({
    name: file.name,
    source,
    names,
    ...withoutKind(file),
  }));
}

function withoutKind<K extends Kind, T extends { kind: K }>(value: T) {
  const { kind, ...params } = value;
  return { kind, params };
}

/** The definitions whose name another one had before. */
export function repeated<K extends Kind>(
  definitions: readonly Definition<K, unknown>[],
): Problem[] {
  const seen = new Map<string, Definition<K, unknown>>();
  return definitions.flatMap((definition) => {
    const { kind, name, source } = definition;
    const first = seen.get(name);
    if (first === undefined) {
      seen.set(name, definition);
      return [];
    }
    const { file, line } = first.source.placeOf(["name"]);
    const message = `${kind} ${JSON.stringify(name)} is defined twice, first in ${file}:${line}`;
    return [{ place: source.placeOf(["name"]), message }];
  });
}

/**
 * The document with tokens instead of the names in `skills` and in rosters, so that the API's schema
 * reads it. What is not a list there is left for the schema to refuse.
 */
function withTokens(value: unknown, names: Map<string, NameUse>): unknown {
  if (!isRecord(value)) return value;
  const token = (name: string, path: readonly PropertyKey[]) => {
    const id = `~${names.size}`;
    names.set(id, { name, path });
    return id;
  };
  const skillOf = (entry: unknown, index: number) =>
    typeof entry === "string"
      ? { type: "custom", skill_id: token(entry, ["skills", index]) }
      : entry;
  const rosterOf = (list: unknown, path: readonly PropertyKey[]) =>
    Array.isArray(list)
      ? list.map((entry, index) =>
          typeof entry === "string" ? token(entry, [...path, index]) : entry,
        )
      : list;
  const { skills, multiagent } = value;
  return {
    ...value,
    ...(Array.isArray(skills) ? { skills: skills.map(skillOf) } : {}),
    ...(isRecord(multiagent) ? { multiagent: withRosters(multiagent, rosterOf) } : {}),
  };
}

type RosterOf = (list: unknown, path: readonly PropertyKey[]) => unknown;

function withRosters(multiagent: Record<string, unknown>, rosterOf: RosterOf): unknown {
  const changed: Record<string, unknown> = { ...multiagent };
  if ("agents" in multiagent) {
    changed["agents"] = rosterOf(multiagent["agents"], ["multiagent", "agents"]);
  }
  for (const part of ["subagents", "workflows"] satisfies (keyof Multiagent20261001)[]) {
    const delegation = multiagent[part];
    if (!isRecord(delegation) || !("predefined_agents" in delegation)) continue;
    const path = ["multiagent", part, "predefined_agents"];
    const list = rosterOf(delegation["predefined_agents"], path);
    changed[part] = { ...delegation, predefined_agents: list };
  }
  return changed;
}

type Multiagent20261001 = Extract<MultiagentParams, { type: "multiagent_20261001" }>;
