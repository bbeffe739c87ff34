import { writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import type { Config } from "../../config.ts";
import { OperatorError } from "../../lib/operator-error.ts";
import { apiKeyFor } from "../api-key.ts";
import { findServers } from "../server-file.ts";
import { stop } from "../stop.ts";
import { assign } from "./assignment.ts";
import { type DataSet, readDataSet } from "./data-set.ts";
import { DemoServer, freePort } from "./demo-server.ts";
import { howToTalk } from "./how-to-talk.ts";
import { runAssignment } from "./run-assignment.ts";
import { Transcript } from "./transcript.ts";

export interface DemoOptions {
  readonly config: Config;
  /** The model to ask where one is configured; without it the first that the server lists. */
  readonly model?: string;
  /** Stop the server at the end instead of leaving it running. */
  readonly once: boolean;
  /** How many rows to leave out at the end of the data set: the report must then differ. */
  readonly dropRows: number;
  /** Also write the fetched report here. */
  readonly out?: string;
}

/**
 * An agent analyses a data set on a server of its own, which is killed and started again while the
 * agent's command runs. Rejects if the work was not finished or not done exactly once; whatever was
 * started is then stopped.
 */
export async function demo(options: DemoOptions): Promise<void> {
  const transcript = new Transcript(process.stdout);
  const dataSet = readDataSet(options.dropRows);
  const data = join(options.config.data, "demo");
  if ((await findServers(data)).length > 0) {
    await stop({ data, hands: true });
    transcript.say("server", "stopped the one that an earlier demo left running");
  }
  const server = new DemoServer(data, await freePort(options.config.port, options.config.host));
  const interrupted = stopOnInterrupt(server, data);
  let isFinished = false;
  try {
    const report = await work(options, { server, transcript, dataSet, data });
    if (options.out !== undefined) await writeFile(options.out, report);
    isFinished = true;
  } finally {
    interrupted.dispose();
    if (options.once || !isFinished) await stop({ data, hands: true });
  }
  if (options.once) {
    transcript.section("the end", "The server and its sandboxes are stopped.");
  } else {
    const apiKey = apiKeyFor({ ...options.config, data }).reveal();
    const folder = relative(process.cwd(), data) || ".";
    transcript.section("it is still running", howToTalk({ url: server.url, apiKey, data: folder }));
  }
}

interface Stage {
  readonly server: DemoServer;
  readonly transcript: Transcript;
  readonly dataSet: DataSet;
  readonly data: string;
}

/** Resolves to the report's text, as the Files API gave it. */
async function work(options: DemoOptions, stage: Stage): Promise<string> {
  const { server, transcript, dataSet, data } = stage;
  await server.start();
  transcript.say(
    "server",
    `listening on ${server.url} (process ${server.pid}), log in ${server.logPath}`,
  );
  const client = new Anthropic({
    baseURL: server.url,
    apiKey: apiKeyFor({ ...options.config, data }).reveal(),
  });
  const assignment = await assign(client, { ...options, dataSet, transcript });
  const finished = await runAssignment(client, assignment, server, transcript);
  const report = await fetchReport(client, assignment.sessionId, transcript);
  transcript.section("the report, as the Files API gives it", report);
  transcript.section("was anything done twice?", finished.findings.join("\n"));
  if (!finished.isProved) {
    throw new OperatorError("The demo could not show that the command ran exactly once.");
  }
  return report;
}

const REPORT_NAME = "report.md";

async function fetchReport(
  client: Anthropic,
  sessionId: string,
  transcript: Transcript,
): Promise<string> {
  for await (const file of client.beta.files.list({
    scope_id: sessionId,
    betas: ["managed-agents-2026-04-01"],
  })) {
    if (file.filename !== REPORT_NAME) continue;
    const response = await client.beta.files.download(file.id);
    transcript.say("files", `fetched ${file.filename}, ${file.size_bytes} bytes (${file.id})`);
    return response.text();
  }
  throw new OperatorError(`The agent wrote no ${REPORT_NAME} into /mnt/session/outputs.`);
}

/** Ctrl-C in the middle leaves nothing running. */
function stopOnInterrupt(server: DemoServer, data: string): { dispose(): void } {
  const end = async () => {
    await server.abandon();
    await stop({ data, hands: true });
  };
  const onSignal = () => {
    void end().finally(() => process.exit(130));
  };
  process.once("SIGINT", onSignal);
  process.once("SIGTERM", onSignal);
  return {
    dispose() {
      process.off("SIGINT", onSignal);
      process.off("SIGTERM", onSignal);
    },
  };
}
