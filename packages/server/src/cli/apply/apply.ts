import { createInterface } from "node:readline/promises";
import Anthropic, { APIConnectionError } from "@anthropic-ai/sdk";
import type { Config } from "../../config.ts";
import { OperatorError } from "../../lib/operator-error.ts";
import { apiKeyFor } from "../api-key.ts";
import { findServer } from "../server-file.ts";
import { carryOut, reasonOf } from "./carry-out.ts";
import { readDefinitionFiles } from "./definition-files.ts";
import { readDefinitions } from "./definitions.ts";
import { makePlan } from "./plan.ts";
import { ServerState } from "./server-state.ts";
import { type Paint, paintFor, planText } from "./show-plan.ts";
import type { Problem } from "./source-document.ts";

/** There is a difference, and it was left. */
const DIFFERENT = 2;

export interface ApplyOptions {
  readonly paths: readonly string[];
  /** Carry the plan out without asking. */
  readonly yes: boolean;
  /** Show the plan, and no more. */
  readonly dryRun: boolean;
}

/** Whom to show things to, and to ask. */
export interface Audience {
  readonly say: (text: string) => void;
  readonly paint: Paint;
  /** Undefined where nobody can be asked. */
  readonly confirm: (() => Promise<boolean>) | undefined;
}

/**
 * Makes the server's agents, environments and skills what the files say, after it has shown the
 * difference. Gives the exit code: 0 if there is none (any more), 2 if there is one that was left. Rejects
 * with `OperatorError` for files that cannot be used, each problem with its place, and for a plan that
 * could not be carried out to its end, with what was done of it.
 */
export async function apply(
  client: Anthropic,
  { paths, yes, dryRun }: ApplyOptions,
  { say, paint, confirm }: Audience,
): Promise<number> {
  const files = await readDefinitionFiles(paths);
  const definitions = readDefinitions(files.documents);
  refuse([...files.problems, ...definitions.problems]);
  const { environments, skills, agents } = definitions;
  if (environments.length + skills.length + agents.length === 0) {
    throw new OperatorError(`There is no definition in ${paths.join(", ")}.`);
  }
  const plan = await reachable(client, () => makePlan(definitions, new ServerState(client)));
  refuse(plan.problems);
  say(planText(plan, paint));
  if (plan.steps.every(({ action }) => action === "keep")) return 0;
  if (dryRun) return DIFFERENT;
  if (!yes && confirm === undefined) {
    say(
      "Nothing was changed: there is nobody to ask. Give --yes to apply, or --dry-run to only look.",
    );
    return DIFFERENT;
  }
  if (!yes && (await confirm?.()) !== true) {
    say("Nothing was changed.");
    return DIFFERENT;
  }
  await carryOut(plan, say);
  return 0;
}

/** The client for `url`, else for the server of the data folder. */
export async function clientFor(config: Config, url: string | undefined): Promise<Anthropic> {
  const found = url === undefined ? (await findServer(config.data))?.url : undefined;
  const baseURL = url ?? found ?? `http://${config.host}:${config.port}`;
  if (!URL.canParse(baseURL)) throw new OperatorError(`${baseURL} is no URL.`);
  if (config.apiKey === undefined && !isLoopback(baseURL)) {
    throw new OperatorError(
      `Set DROVER_API_KEY to a key of ${baseURL}; the one in the data folder is this machine's.`,
    );
  }
  const apiKey = apiKeyFor(config).reveal();
  return new Anthropic({ baseURL: baseURL.replace(/\/+$/, ""), apiKey });
}

/** The terminal, or whatever stands in for it. */
export function terminal(): Audience {
  const { stdin, stdout } = process;
  const isTerminal = stdin.isTTY && stdout.isTTY;
  return {
    say: (text) => stdout.write(`${text}\n`),
    paint: paintFor(stdout),
    confirm: isTerminal ? askForYes : undefined,
  };
}

async function askForYes(): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  // The end of the input, or an interrupt, is a no: the question alone would wait for ever.
  const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
  try {
    const answer = await Promise.race([lines.question("Apply this? [y/N] "), ended]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}

function refuse(problems: readonly Problem[]): void {
  if (problems.length === 0) return;
  const inOrder = problems.toSorted(
    ({ place: a }, { place: b }) =>
      (a.file === b.file ? 0 : a.file < b.file ? -1 : 1) || a.line - b.line || a.column - b.column,
  );
  const lines = inOrder.map(
    ({ place: { file, line, column }, message }) => `${file}:${line}:${column}: ${message}`,
  );
  throw new OperatorError(lines.join("\n"));
}

async function reachable<T>(client: Anthropic, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    if (cause instanceof APIConnectionError) {
      throw new OperatorError(
        `The server ${client.baseURL} cannot be reached; start it (drover serve), or name another with --url.`,
        { cause },
      );
    }
    if (cause instanceof Anthropic.APIError) {
      throw new OperatorError(`The server ${client.baseURL} refuses: ${reasonOf(cause)}`, {
        cause,
      });
    }
    throw cause;
  }
}

function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return /^(localhost|127(\.\d+){3}|0\.0\.0\.0|\[::1?\])$/.test(hostname);
}
