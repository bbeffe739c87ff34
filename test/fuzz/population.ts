import { ENDPOINTS, type ResourceName, Resources, Target } from "drover-conformance";
import type { Who } from "./requests.ts";

/** Ids that are kept of each kind; the oldest go. */
const KEPT_MAX = 60;
const FAMILIES_MAX = 12;
/** How many of everything there are from the start, in each workspace. */
const START_WITH = 6;

const KINDS: Readonly<Record<string, string>> = {
  agent: "agent_id",
  env: "environment_id",
  sesn: "session_id",
  sthr: "thread_id",
  sesrsc: "resource_id",
  file: "file_id",
  vlt: "vault_id",
  vcrd: "credential_id",
  memstore: "memory_store_id",
  mem: "memory_id",
  memver: "memory_version_id",
  skill: "skill_id",
  skver: "version",
  apikey: "api_key_id",
  wrkspc: "workspace_id",
};
/** Ids by the name of their parameter. */
type Family = ReadonlyMap<string, string>;

const ID = new RegExp(`\\b(${Object.keys(KINDS).join("|")})_[0-9A-Za-z]{16,}`, "g");

/** Two workspaces with something of everything, and keys of all roles to them. */
export class Population {
  readonly keys: Readonly<Record<Who, string>>;
  readonly markers: readonly [string, string];
  /** By workspace and kind. */
  readonly #ids = [new Map<string, string[]>(), new Map<string, string[]>()] as const;
  /** What was made together, so that each is in the other; by workspace. */
  readonly #families: readonly [Family[], Family[]] = [[], []];
  /** Whose each id is, for all that were ever seen. */
  readonly #owners = new Map<string, 0 | 1>();
  readonly #url: string;

  private constructor(url: string, keys: Record<Who, string>, markers: [string, string]) {
    this.#url = url;
    this.keys = keys;
    this.markers = markers;
  }

  static async make(url: string, apiKey: string, markers: [string, string]): Promise<Population> {
    const made = async (path: string, body: object) => {
      const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      const response = await fetch(`${url}/v1/drover/${path}`, init);
      return (await response.json()) as { id: string; key: string };
    };
    // Neither is the first workspace: its admins may see the others.
    const [one, other] = [
      await made("workspaces", { name: markers[0] }),
      await made("workspaces", { name: markers[1] }),
    ];
    const owned: [string, 0 | 1][] = [];
    const key = async (workspace: 0 | 1, role: string) => {
      const { id: workspace_id } = workspace === 0 ? one : other;
      const created = await made("api_keys", { name: role, role, workspace_id });
      owned.push([created.id, workspace]);
      return created.key;
    };
    const keys = {
      admin: await key(0, "admin"),
      developer: await key(0, "developer"),
      reader: await key(0, "read_only"),
      "other admin": await key(1, "admin"),
      "other developer": await key(1, "developer"),
      nobody: "",
    };
    const population = new Population(url, keys, markers);
    // Known, and never asked for: without their keys the callers would be nobody.
    for (const [id, workspace] of owned) population.#owners.set(id, workspace);
    population.#learn(0, one.id);
    population.#learn(1, other.id);
    for (let count = 0; count < START_WITH; count += 1) await population.grow();
    return population;
  }

  /** The caller's own and, now and then, the other workspace's; all of its own without a parameter. */
  ids(who: Who, parameter: string): readonly string[] {
    const own = this.#ids[workspaceOf(who)];
    const other = this.#ids[workspaceOf(who) === 0 ? 1 : 0];
    if (parameter === "") return [...own.values()].flat();
    const [mine = [], theirs = []] = [own.get(parameter), other.get(parameter)];
    return [...mine, ...theirs.slice(0, Math.ceil(mine.length / 4))];
  }

  /** Ids of one workspace that belong together, such as a session and its thread. */
  families(who: Who): readonly Family[] {
    return this.#families[workspaceOf(who)];
  }

  marker(who: Who): string {
    return this.markers[workspaceOf(who)];
  }

  /** Takes note of what an answer tells of its caller's workspace. */
  learn(who: Who, text: string): void {
    if (who === "nobody") return;
    this.#learn(workspaceOf(who), text);
  }

  /** What an answer tells of the other workspace that the request did not; undefined if nothing. */
  leakIn(who: Who, sent: string, text: string): string | undefined {
    const own = workspaceOf(who);
    const theirs = this.markers[own === 0 ? 1 : 0];
    if (text.includes(theirs) && !sent.includes(theirs)) return theirs;
    for (const [id] of text.matchAll(ID)) {
      const owner = this.#owners.get(id);
      if (owner !== undefined && owner !== own && !sent.includes(id)) return id;
    }
    return undefined;
  }

  /** Makes something of everything once more, for requests take things away. */
  async grow(): Promise<void> {
    await Promise.all([
      this.#fill(0, this.keys.developer),
      this.#fill(1, this.keys["other developer"]),
    ]);
  }

  async #fill(workspace: 0 | 1, key: string): Promise<void> {
    const options = { baseUrl: this.#url, apiKey: key, model: "offline/echo", isScripted: false };
    const family = new Map<string, string>();
    const resources = new Resources(new Target(options), { marker: this.markers[workspace] });
    for (const { path, deferred } of ENDPOINTS) {
      if (deferred !== undefined) continue;
      for (const [, name = ""] of path.matchAll(/\{(\w+)\}/g)) {
        const id = await resources.id(name as ResourceName);
        family.set(name, id);
        this.#learn(workspace, id);
      }
    }
    this.#families[workspace].push(family);
    if (this.#families[workspace].length > FAMILIES_MAX) this.#families[workspace].shift();
  }

  #learn(workspace: 0 | 1, text: string): void {
    for (const [id, prefix = ""] of text.matchAll(ID)) {
      if (this.#owners.has(id)) continue;
      this.#owners.set(id, workspace);
      const kind = KINDS[prefix] ?? "";
      const ids = this.#ids[workspace].get(kind) ?? [];
      this.#ids[workspace].set(kind, [...ids, id].slice(-KEPT_MAX));
    }
  }
}

function workspaceOf(who: Who): 0 | 1 {
  return who.startsWith("other") ? 1 : 0;
}
