import { isDeepStrictEqual } from "node:util";
import { toFile } from "@anthropic-ai/sdk";
import {
  AgentDefinition as AgentParts,
  Agent as AgentResource,
  EnvironmentDefinition as EnvironmentParts,
} from "@drover/api";
import { stringify } from "yaml";
import { agentRequest, ambiguous, type Known, newId, referencedAgent } from "./agent-request.ts";
import { DefinitionError, problemOf } from "./definition-error.ts";
import type {
  AgentDefinition,
  Definitions,
  EnvironmentDefinition,
  Kind,
  SkillDefinition,
} from "./definitions.ts";
import { repeated } from "./definitions.ts";
import { environmentRequest } from "./environment-request.ts";
import type { ServerState } from "./server-state.ts";
import { downloadedFiles, listing, readSkillFolder, type SkillFolder } from "./skill-folder.ts";
import type { Problem, SourceDocument } from "./source-document.ts";

/** What becomes of one definition. */
export interface Step {
  readonly kind: Kind;
  readonly name: string;
  readonly action: "create" | "change" | "keep";
  /** Undefined for what is to be made. */
  readonly id: string | undefined;
  /** Text to compare; empty for what is to be made. */
  readonly before: string;
  readonly after: string;
  /** Does it, with what the steps before it have become; gives the id. */
  carryOut(known: Known): Promise<string>;
}

export interface Plan {
  /** In the order in which they are to be carried out. */
  readonly steps: readonly Step[];
  readonly problems: readonly Problem[];
}

/** Compares what the definitions say with what the server has. Changes nothing. */
export async function makePlan(definitions: Definitions, state: ServerState): Promise<Plan> {
  const known: Known = { agents: new Map(), skills: new Map() };
  const steps: Step[] = [];
  const problems: Problem[] = [];
  const add = async (source: SourceDocument, plan: () => Promise<Step>) => {
    try {
      steps.push(await plan());
    } catch (error) {
      problems.push(problemOf(error, source));
    }
  };
  for (const each of definitions.environments) {
    await add(each.source, () => planEnvironment(each, state));
  }
  const skills: SkillDefinition[] = [];
  for (const each of definitions.skills) {
    await add(each.source, async () => {
      const folder = await readSkillFolder(each);
      skills.push({ ...each, name: folder.slug });
      return await planSkill(each, folder, { state, known });
    });
  }
  problems.push(...repeated(skills));
  for (const each of inOrder(definitions.agents)) {
    await add(each.source, () => planAgent(each, { state, known }));
  }
  return { steps, problems };
}

/** What a call of the client sends. Ours says of a field left out that it may be undefined, which JSON drops. */
type Sent<Call extends (...args: never) => unknown, At extends number = 0> = Parameters<Call>[At];

interface World {
  readonly state: ServerState;
  readonly known: Known;
}

/** Those that delegate come last: no agent may name one that does. */
function inOrder(agents: readonly AgentDefinition[]): readonly AgentDefinition[] {
  const delegates = ({ params }: AgentDefinition) => Boolean(params.multiagent);
  return [...agents.filter((each) => !delegates(each)), ...agents.filter(delegates)];
}

async function planEnvironment(
  { kind, name, params }: EnvironmentDefinition,
  state: ServerState,
): Promise<Step> {
  const [existing] = await state.environmentsNamed(name);
  const { create, update, result } = environmentRequest(params, existing);
  const { environments } = state.client.beta;
  const before = existing && EnvironmentParts.parse(existing);
  return {
    kind,
    name,
    id: existing?.id,
    ...comparison(before, result),
    carryOut: async () => {
      const environment =
        existing === undefined
          ? await environments.create(create as Sent<typeof environments.create>)
          : await environments.update(existing.id, update as Sent<typeof environments.update, 1>);
      return environment.id;
    },
  };
}

async function planSkill(
  { kind, params }: SkillDefinition,
  { slug, files }: SkillFolder,
  { state, known }: World,
): Promise<Step> {
  const found = await state.skillsNamed(slug);
  const [existing, ...others] = found;
  if (others.length > 0) {
    throw ambiguous(
      "skills",
      slug,
      found.map(({ skill }) => skill),
      ["path"],
    );
  }
  const label = params.display_name;
  if (existing !== undefined && label !== undefined && label !== existing.skill.display_name) {
    throw new DefinitionError(
      ["display_name"],
      `display_name: skill ${slug} is called ${JSON.stringify(existing.skill.display_name)}, which cannot be changed`,
    );
  }
  const before = existing === undefined ? "" : listing(await downloadedFiles(state, existing));
  const after = listing(files);
  const action = existing === undefined ? "create" : before === after ? "keep" : "change";
  const id = existing?.skill.id;
  known.skills.set(slug, {
    id: id ?? newId("skill", slug),
    version: action === "keep" && existing ? existing.version.id : "(new version)",
  });
  return {
    kind,
    name: slug,
    id,
    action,
    before,
    after,
    carryOut: async (real) => {
      const sent = { files: await uploads(slug, files) };
      const { skills } = state.client.beta;
      if (id === undefined) {
        const named = label === undefined ? sent : { ...sent, display_name: label };
        const skill = await skills.create(named);
        real.skills.set(slug, { id: skill.id, version: skill.latest_version_id });
        return skill.id;
      }
      const version = await skills.versions.create(id, sent);
      real.skills.set(slug, { id, version: version.id });
      return id;
    },
  };
}

async function uploads(slug: string, files: ReadonlyMap<string, Uint8Array>) {
  return await Promise.all([...files].map(([path, bytes]) => toFile(bytes, `${slug}/${path}`)));
}

async function planAgent(definition: AgentDefinition, { state, known }: World): Promise<Step> {
  const { kind, name, params } = definition;
  const found = await state.agentsNamed(name);
  const [existing, ...others] = found;
  if (others.length > 0) throw ambiguous("agents", name, found, ["name"]);
  const { result } = await agentRequest(definition, existing, { state, known });
  const { action, ...texts } = comparison(existing && AgentParts.parse(existing), result);
  known.agents.set(name, {
    id: existing?.id ?? newId("agent", name),
    name,
    version: (existing?.version ?? 0) + (action === "keep" ? 0 : 1),
    isArchived: false,
    hasMultiagent: Boolean(params.multiagent),
  });
  const { agents } = state.client.beta;
  return {
    kind,
    name,
    id: existing?.id,
    action,
    ...texts,
    carryOut: async (real) => {
      const { create, update } = await agentRequest(definition, existing, { state, known: real });
      const agent =
        existing === undefined
          ? await agents.create(create as Sent<typeof agents.create>)
          : await agents.update(existing.id, update as Sent<typeof agents.update, 1>);
      real.agents.set(name, referencedAgent(AgentResource.parse(agent)));
      return agent.id;
    },
  };
}

/** Both as YAML: what is there, if anything, and what is to be. */
function comparison(
  before: object | undefined,
  after: object,
): Pick<Step, "action" | "before" | "after"> {
  const text = (value: object) => stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
  if (before === undefined) return { action: "create", before: "", after: text(filled(after)) };
  const isSame = isDeepStrictEqual(before, after);
  return { action: isSame ? "keep" : "change", before: text(before), after: text(after) };
}

/** Without what is empty: of something new that says nothing. */
function filled(value: object): object {
  const isEmpty = (part: unknown) =>
    part === null || (typeof part === "object" && Object.keys(part).length === 0);
  return Object.fromEntries(Object.entries(value).filter(([, part]) => !isEmpty(part)));
}
