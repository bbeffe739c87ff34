import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import Anthropic from "@anthropic-ai/sdk";
import { Agent, Environment, Skill, SkillVersion } from "@drover/api";

const PAGE = 100;

export interface NamedSkill {
  readonly skill: Skill;
  /** The latest one, which knows the name. */
  readonly version: SkillVersion;
}

/** What the server has, looked up once for each question. What is archived is not there. */
export class ServerState {
  readonly client: Anthropic;
  #agents: Promise<readonly Agent[]> | undefined;
  #environments: Promise<readonly Environment[]> | undefined;
  #skills: Promise<readonly NamedSkill[]> | undefined;

  constructor(client: Anthropic) {
    this.client = client;
  }

  async agentsNamed(name: string): Promise<readonly Agent[]> {
    this.#agents ??= this.#listAgents();
    return (await this.#agents).filter((agent) => agent.name === name);
  }

  async environmentsNamed(name: string): Promise<readonly Environment[]> {
    this.#environments ??= this.#listEnvironments();
    return (await this.#environments).filter((environment) => environment.name === name);
  }

  async skillsNamed(name: string): Promise<readonly NamedSkill[]> {
    this.#skills ??= this.#listSkills();
    return (await this.#skills).filter(({ version }) => version.name === name);
  }

  /** Undefined if there is none. */
  async agent(id: string, version?: number): Promise<Agent | undefined> {
    const query = version === undefined ? {} : { version };
    const found = await unlessMissing(this.client.beta.agents.retrieve(id, query));
    return found === undefined ? undefined : Agent.parse(found);
  }

  /** The id of the version that is the latest of the skill; undefined if there is no such skill. */
  async latestVersionId(skillId: string): Promise<string | undefined> {
    return (await unlessMissing(this.client.beta.skills.retrieve(skillId)))?.latest_version_id;
  }

  /** Writes the archive of a skill's version to the path. */
  async download({ skill, version }: NamedSkill, path: string): Promise<void> {
    const params = { skill_id: skill.id };
    const { body } = await this.client.beta.skills.versions.download(version.id, params);
    if (body === null) throw new Error(`the download of skill ${skill.id} has no body`);
    await pipeline(Readable.fromWeb(body), createWriteStream(path, { flags: "wx" }));
  }

  async #listAgents(): Promise<readonly Agent[]> {
    const agents: Agent[] = [];
    for await (const agent of this.client.beta.agents.list({ limit: PAGE })) {
      agents.push(Agent.parse(agent));
    }
    return agents;
  }

  async #listEnvironments(): Promise<readonly Environment[]> {
    const environments: Environment[] = [];
    for await (const environment of this.client.beta.environments.list({ limit: PAGE })) {
      environments.push(Environment.parse(environment));
    }
    return environments;
  }

  async #listSkills(): Promise<readonly NamedSkill[]> {
    const { skills } = this.client.beta;
    const found: NamedSkill[] = [];
    for await (const skill of skills.list({ source: "custom", limit: PAGE })) {
      const params = { skill_id: skill.id };
      const version = await unlessMissing(
        skills.versions.retrieve(skill.latest_version_id, params),
      );
      if (version === undefined) continue;
      found.push({ skill: Skill.parse(skill), version: SkillVersion.parse(version) });
    }
    return found;
  }
}

async function unlessMissing<T>(call: PromiseLike<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof Anthropic.NotFoundError) return undefined;
    throw error;
  }
}
