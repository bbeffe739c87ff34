import type { Target } from "../target.ts";
import { credential, memory, type Resources, skill } from "./resources.ts";

/** The endpoints of the contract (§2) as data, each with a request that it has to accept. */
export interface Endpoint {
  /** The official client's method. */
  readonly id: string;
  readonly method: "GET" | "POST" | "DELETE";
  /** With parameters in braces. */
  readonly path: string;
  readonly query?: string;
  /** Absent where the request has none. */
  readonly body?: (resources: Resources, target: Target) => unknown;
  /** `stream`: the answer does not end. `bytes`: it is no JSON. */
  readonly answer?: "stream" | "bytes";
  /** Why this server cannot answer yet. */
  readonly deferred?: string;
  /** The status where it is another than 200. */
  readonly status?: number;
}

type Body = Endpoint["body"];

const named: Body = (_, t) => ({ name: t.unique("endpoint") });
const nothing: Body = () => ({});
const AGENT = "/v1/agents/{agent_id}";
const ENVIRONMENT = "/v1/environments/{environment_id}";
const WORK = `${ENVIRONMENT}/work/{work_id}`;
const SESSION = "/v1/sessions/{session_id}";
const RESOURCE = `${SESSION}/resources/{resource_id}`;
const THREAD = `${SESSION}/threads/{thread_id}`;
const DEPLOYMENT = "/v1/deployments/{deployment_id}";
const VAULT = "/v1/vaults/{vault_id}";
const CREDENTIAL = `${VAULT}/credentials/{credential_id}`;
const STORE = "/v1/memory_stores/{memory_store_id}";
const MEMORY = `${STORE}/memories/{memory_id}`;
const MEMORY_VERSION = `${STORE}/memory_versions/{memory_version_id}`;
const SKILL = "/v1/skills/{skill_id}";
const VERSION = `${SKILL}/versions/{version}`;
const FILE = "/v1/files/{file_id}";
const DREAM = "/v1/dreams/{dream_id}";

const get = (id: string, path: string, more: Partial<Endpoint> = {}): Endpoint => ({
  ...{ id, path, ...more },
  method: "GET",
});
const post = (id: string, path: string, body?: Body, more: Partial<Endpoint> = {}): Endpoint => ({
  ...{ id, path, ...more, ...(body === undefined ? {} : { body }) },
  method: "POST",
});
const remove = (id: string, path: string): Endpoint => ({ id, path, method: "DELETE" });
/** Its accepted request is not known before it is built: that it is not refused by name is all there is. */
const later = (deferred: string, endpoints: readonly Endpoint[]) =>
  endpoints.map((endpoint) => ({ ...endpoint, deferred }));

const sessionBody: Body = async (resources) => ({
  agent: await resources.id("agent_id"),
  environment_id: await resources.id("environment_id"),
});
const fileResource: Body = async (resources) => ({
  type: "file",
  file_id: await resources.id("file_id"),
  mount_path: "/mnt/data/another.txt",
});
const message: Body = () => ({
  events: [{ type: "user.message", content: [{ type: "text", text: "hello" }] }],
});
const uploaded: Body = () => {
  const form = new FormData();
  form.set("file", new File(["text"], "notes.txt"));
  return form;
};
const nextVersion: Body = async (resources, t) => {
  const answer = await t.request("GET", await resources.path(VERSION));
  return skill(String(answer.body?.name), "next");
};

export const ENDPOINTS: readonly Endpoint[] = [
  post("agents.create", "/v1/agents", (_, t) => ({ name: "endpoint", model: t.model })),
  get("agents.retrieve", AGENT),
  post("agents.update", AGENT, () => ({ description: "changed" })),
  get("agents.list", "/v1/agents"),
  post("agents.archive", `${AGENT}/archive`),
  get("agents.versions.list", `${AGENT}/versions`),
  post("environments.create", "/v1/environments", named),
  get("environments.list", "/v1/environments"),
  get("environments.retrieve", ENVIRONMENT),
  post("environments.update", ENVIRONMENT, () => ({ description: "changed" })),
  remove("environments.delete", ENVIRONMENT),
  post("environments.archive", `${ENVIRONMENT}/archive`),
  ...later("the work queue is not built", [
    get("environments.work.retrieve", WORK),
    post("environments.work.update", WORK, nothing),
    get("environments.work.list", `${ENVIRONMENT}/work`),
    post("environments.work.ack", `${WORK}/ack`),
    post("environments.work.heartbeat", `${WORK}/heartbeat`),
    get("environments.work.poll", `${ENVIRONMENT}/work/poll`),
    get("environments.work.stats", `${ENVIRONMENT}/work/stats`),
    post("environments.work.stop", `${WORK}/stop`, nothing),
  ]),
  post("sessions.create", "/v1/sessions", sessionBody),
  get("sessions.retrieve", SESSION),
  post("sessions.update", SESSION, () => ({ title: "changed" })),
  get("sessions.list", "/v1/sessions"),
  remove("sessions.delete", SESSION),
  post("sessions.archive", `${SESSION}/archive`),
  get("sessions.events.list", `${SESSION}/events`),
  post("sessions.events.send", `${SESSION}/events`, message),
  get("sessions.events.stream", `${SESSION}/events/stream`, { answer: "stream" }),
  get("sessions.resources.list", `${SESSION}/resources`),
  post("sessions.resources.add", `${SESSION}/resources`, fileResource),
  get("sessions.resources.retrieve", RESOURCE),
  // Of a file there is nothing to update, which is said with 400; §5.6 has the repositories.
  post("sessions.resources.update", RESOURCE, () => ({ authorization_token: "t" }), {
    status: 400,
  }),
  remove("sessions.resources.delete", RESOURCE),
  get("sessions.threads.list", `${SESSION}/threads`),
  get("sessions.threads.retrieve", THREAD),
  // The primary thread is archived with its session, never alone.
  post("sessions.threads.archive", `${THREAD}/archive`, undefined, { status: 400 }),
  get("sessions.threads.events.list", `${THREAD}/events`),
  get("sessions.threads.events.stream", `${THREAD}/stream`, { answer: "stream" }),
  ...later("deployments are not built", [
    post("deployments.create", "/v1/deployments", named),
    get("deployments.list", "/v1/deployments"),
    get("deployments.retrieve", DEPLOYMENT),
    post("deployments.update", DEPLOYMENT, nothing),
    post("deployments.archive", `${DEPLOYMENT}/archive`),
    post("deployments.pause", `${DEPLOYMENT}/pause`),
    post("deployments.unpause", `${DEPLOYMENT}/unpause`),
    post("deployments.run", `${DEPLOYMENT}/run`),
    get("deploymentRuns.list", "/v1/deployment_runs"),
    get("deploymentRuns.retrieve", "/v1/deployment_runs/{deployment_run_id}"),
  ]),
  post("vaults.create", "/v1/vaults", () => ({ display_name: "endpoint" })),
  get("vaults.list", "/v1/vaults"),
  get("vaults.retrieve", VAULT),
  post("vaults.update", VAULT, () => ({ display_name: "changed" })),
  remove("vaults.delete", VAULT),
  post("vaults.archive", `${VAULT}/archive`),
  post("vaults.credentials.create", `${VAULT}/credentials`, (_, t) =>
    credential(t.unique("KEY"), "endpoint"),
  ),
  get("vaults.credentials.list", `${VAULT}/credentials`),
  get("vaults.credentials.retrieve", CREDENTIAL),
  post("vaults.credentials.update", CREDENTIAL, () => ({ display_name: "changed" })),
  remove("vaults.credentials.delete", CREDENTIAL),
  post("vaults.credentials.archive", `${CREDENTIAL}/archive`),
  // The credential of the endpoints is an environment variable, which has no token to try.
  post("vaults.credentials.mcpOAuthValidate", `${CREDENTIAL}/mcp_oauth_validate`, undefined, {
    status: 400,
  }),
  post("memoryStores.create", "/v1/memory_stores", () => ({ name: "endpoint" })),
  get("memoryStores.list", "/v1/memory_stores"),
  get("memoryStores.retrieve", STORE),
  post("memoryStores.update", STORE, () => ({ name: "changed" })),
  remove("memoryStores.delete", STORE),
  post("memoryStores.archive", `${STORE}/archive`),
  post("memoryStores.memories.create", `${STORE}/memories`, (_, t) =>
    memory(t.unique("endpoint"), "endpoint"),
  ),
  get("memoryStores.memories.list", `${STORE}/memories`),
  get("memoryStores.memories.retrieve", MEMORY),
  post("memoryStores.memories.update", MEMORY, () => ({ content: "changed" })),
  remove("memoryStores.memories.delete", MEMORY),
  get("memoryStores.memoryVersions.list", `${STORE}/memory_versions`),
  get("memoryStores.memoryVersions.retrieve", MEMORY_VERSION),
  post("memoryStores.memoryVersions.redact", `${MEMORY_VERSION}/redact`),
  post("skills.create", "/v1/skills", (_, t) => skill(t.unique("endpoint"), "endpoint")),
  get("skills.list", "/v1/skills"),
  get("skills.retrieve", SKILL),
  remove("skills.delete", SKILL),
  post("skills.versions.create", `${SKILL}/versions`, nextVersion),
  get("skills.versions.list", `${SKILL}/versions`),
  get("skills.versions.retrieve", VERSION),
  remove("skills.versions.delete", VERSION),
  get("skills.versions.download", `${VERSION}/content`, { answer: "bytes" }),
  post("files.upload", "/v1/files", uploaded),
  get("files.list", "/v1/files"),
  get("files.retrieveMetadata", FILE),
  remove("files.delete", FILE),
  // What was uploaded cannot be downloaded (§12).
  get("files.download", `${FILE}/content`, { status: 400 }),
  get("models.list", "/v1/models"),
  get("models.retrieve", "/v1/models/{model_id}"),
  ...later("dreams are not built", [
    post("dreams.create", "/v1/dreams", nothing),
    get("dreams.list", "/v1/dreams"),
    get("dreams.retrieve", DREAM),
    post("dreams.archive", `${DREAM}/archive`),
    post("dreams.cancel", `${DREAM}/cancel`),
  ]),
];
