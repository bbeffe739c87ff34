import type { Target, WireAnswer } from "../target.ts";

/** Names of parameters in paths, such as `agent_id`. */
export type ResourceName =
  | "agent_id"
  | "environment_id"
  | "session_id"
  | "thread_id"
  | "resource_id"
  | "file_id"
  | "vault_id"
  | "credential_id"
  | "memory_store_id"
  | "memory_id"
  | "memory_version_id"
  | "skill_id"
  | "version"
  | "model_id"
  | "work_id"
  | "deployment_id"
  | "deployment_run_id"
  | "dream_id";

const STORE = "/v1/memory_stores/{memory_store_id}";
const MEMORY = `${STORE}/memories/{memory_id}`;

const SKILL = "/v1/skills/{skill_id}";

/** Text that stands in everything that is made, so that it is known again where it should not be. */
export const MARKER = "marker-of-the-first-workspace";

/** Resources of one workspace, each made when it is first asked for. */
export class Resources {
  readonly #target: Target;
  readonly #key: string | undefined;
  readonly #marker: string;
  readonly #made = new Map<ResourceName, Promise<string>>();

  /** With the target's usual key and the marker, unless others are given. */
  constructor(target: Target, { key, marker = MARKER }: { key?: string; marker?: string } = {}) {
    this.#target = target;
    this.#key = key;
    this.#marker = marker;
  }

  id(name: ResourceName): Promise<string> {
    const made = this.#made.get(name) ?? this.#make(name);
    this.#made.set(name, made);
    return made;
  }

  /** The path with its parameters put in. */
  async path(template: string): Promise<string> {
    let path = template;
    for (const [hole, name] of template.matchAll(/\{(\w+)\}/g)) {
      path = path.replace(hole, encodeURIComponent(await this.id(name as ResourceName)));
    }
    return path;
  }

  async #make(name: ResourceName): Promise<string> {
    switch (name) {
      case "agent_id":
        return await this.#post("/v1/agents", this.#agent());
      case "environment_id":
        return await this.#post("/v1/environments", {
          name: this.#name(),
          description: this.#marker,
        });
      case "session_id":
        return await this.#post("/v1/sessions", await this.#session());
      case "thread_id":
        return await this.#firstOf("/v1/sessions/{session_id}/threads");
      case "resource_id":
        return await this.#firstOf("/v1/sessions/{session_id}/resources");
      case "file_id":
        return await this.#post("/v1/files", formOf("file", `${this.#marker}.txt`, this.#marker));
      case "vault_id":
        return await this.#post("/v1/vaults", { display_name: this.#marker });
      case "credential_id":
        return await this.#post(
          "/v1/vaults/{vault_id}/credentials",
          credential(this.#name(), this.#marker),
        );
      case "memory_store_id":
        return await this.#post("/v1/memory_stores", {
          name: this.#marker,
          description: this.#marker,
        });
      case "memory_id":
        return await this.#post(`${STORE}/memories`, memory(this.#name(), this.#marker));
      case "memory_version_id": {
        // An earlier one: what a memory shows cannot be redacted.
        await this.#send("POST", MEMORY, { content: `${this.#marker} again` });
        const versions = await this.#send("GET", `${STORE}/memory_versions`);
        return versions.body.data.at(-1).id;
      }
      case "skill_id":
        return await this.#post("/v1/skills", skill(this.#name(), this.#marker));
      case "version": {
        // A second one: the only version of a skill cannot be deleted.
        const versions = await this.#send("GET", `${SKILL}/versions`);
        const { name } = versions.body.data[0];
        return await this.#post(`${SKILL}/versions`, skill(name, `${this.#marker} again`));
      }
      case "model_id":
        return this.#target.model;
      default:
        // Nothing that this makes; a server that has it is not what these scenarios were written for.
        return `${name.replace(/_id$/, "")}_nobody`;
    }
  }

  #name(): string {
    return this.#target.unique(this.#marker);
  }

  #agent() {
    return {
      name: this.#marker,
      model: this.#target.model,
      system: this.#marker,
      metadata: { a: this.#marker },
    };
  }

  async #session() {
    return {
      agent: await this.id("agent_id"),
      environment_id: await this.id("environment_id"),
      title: this.#marker,
      resources: [{ type: "file", file_id: await this.id("file_id") }],
    };
  }

  async #post(template: string, body: unknown): Promise<string> {
    return idOf(await this.#send("POST", template, body));
  }

  async #firstOf(template: string): Promise<string> {
    const answer = await this.#send("GET", template);
    return answer.body.data[0].id;
  }

  async #send(method: string, template: string, body?: unknown): Promise<WireAnswer> {
    const path = await this.path(template);
    const key = this.#key === undefined ? {} : { key: this.#key };
    return await this.#target.request(method, path, { ...key, body });
  }
}

function idOf(answer: WireAnswer): string {
  if (answer.status !== 200) throw new Error(`nothing made: ${answer.status} ${answer.text}`);
  return answer.body.id;
}

export function credential(name: string, marker: string) {
  const secret_name = name.toUpperCase().replaceAll("-", "_");
  return {
    display_name: marker,
    auth: {
      type: "environment_variable",
      secret_name,
      secret_value: marker,
      networking: { type: "unrestricted" },
    },
  };
}

export function memory(name: string, marker: string) {
  return { path: `/${marker}/${name}`, content: marker };
}

export function skill(name: string, marker: string): FormData {
  const text = `---\nname: ${name}\ndescription: ${marker}\n---\n${marker}\n`;
  return formOf("files[]", `${name}/SKILL.md`, text);
}

function formOf(part: string, filename: string, text: string): FormData {
  const form = new FormData();
  form.set(part, new File([text], filename, { type: "text/plain" }));
  return form;
}
