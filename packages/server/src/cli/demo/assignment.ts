import { readFileSync } from "node:fs";
import { join } from "node:path";
import Anthropic, { toFile } from "@anthropic-ai/sdk";
import type { Config } from "../../config.ts";
import type { DataSet } from "./data-set.ts";
import type { Transcript } from "./transcript.ts";

const FOLDER = join(import.meta.dirname, "../../../demo");
const SCRIPTED_MODEL = "offline/script";
const USUAL_MODEL = "claude-sonnet-5-5";

interface AssignmentOptions {
  readonly config: Config;
  readonly model?: string;
  readonly dataSet: DataSet;
  readonly transcript: Transcript;
}

/** Uploads the data set, makes the agent and its session, and gives it the work to do. */
export async function assign(
  client: Anthropic,
  options: AssignmentOptions,
): Promise<{ sessionId: string }> {
  const { dataSet, transcript } = options;
  const model = await chooseModel(options);
  transcript.say("model", model.says);
  const file = await client.beta.files.upload({
    file: await toFile(Buffer.from(dataSet.text), dataSet.name, { type: "text/csv" }),
  });
  transcript.say("files", `uploaded ${dataSet.name}, ${dataSet.rows} rows (${file.id})`);
  const agent = await client.beta.agents.create({
    name: "Analyst",
    model: model.id,
    system: systemPrompt(model.id),
    tools: [{ type: "agent_toolset_20260401" }],
  });
  const environment = await client.beta.environments.create({ name: `demo ${file.id}` });
  const session = await client.beta.sessions.create({
    agent: agent.id,
    environment_id: environment.id,
    title: "Seattle or New York: which is wetter?",
    resources: [
      { type: "file", file_id: file.id, mount_path: `/mnt/session/uploads/${dataSet.name}` },
    ],
  });
  transcript.say("session", `${session.id}, agent ${agent.id}`);
  const text = readFileSync(join(FOLDER, "assignment.md"), "utf8").trim();
  await client.beta.sessions.events.send(session.id, {
    events: [{ type: "user.message", content: [{ type: "text", text }] }],
  });
  return { sessionId: session.id };
}

async function chooseModel(options: AssignmentOptions): Promise<{ id: string; says: string }> {
  const { baseUrl, apiKey } = options.config.model;
  if (baseUrl === undefined && apiKey === undefined) {
    return {
      id: SCRIPTED_MODEL,
      says: `${SCRIPTED_MODEL}: no model is configured, so the built-in one follows a script; what its commands print is real. For a real model set DROVER_MODEL_API_KEY or DROVER_MODEL_BASE_URL.`,
    };
  }
  const id = options.model ?? (await firstModelOf(options.config));
  return { id, says: `${id}, asked at ${baseUrl ?? "Anthropic's API"}` };
}

/** The first model that the API lists; some list none. */
async function firstModelOf({ model }: Config): Promise<string> {
  const upstream = new Anthropic({
    baseURL: model.baseUrl ?? null,
    apiKey: model.apiKey?.reveal() ?? "none",
    maxRetries: 0,
    timeout: 10_000,
  });
  try {
    const { data } = await upstream.models.list({ limit: 1 });
    return data[0]?.id ?? USUAL_MODEL;
  } catch {
    return USUAL_MODEL;
  }
}

/** A model that thinks is told what it is; only the scripted one is given the script. */
function systemPrompt(model: string): string {
  const whole = readFileSync(join(FOLDER, "analyst.md"), "utf8");
  return model === SCRIPTED_MODEL
    ? whole
    : whole.slice(0, whole.indexOf("```drover-script")).trim();
}
