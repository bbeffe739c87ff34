import type { SessionForkParams } from "@drover/api";
import { Command, Option } from "commander";
import type { Config } from "../config.ts";
import type { RunningServer } from "./running-server.ts";

type Say = (text: string) => void;

/** The commands that make sessions of others: `export`, `import`, `fork` and `replay`, and `hand`. */
export function sessionCommands(config: () => Config, say: Say): readonly Command[] {
  return [
    exportCommand(config),
    importCommand(config, say),
    forkCommand(config, say),
    replayCommand(config, say),
    handCommand(config, say),
  ];
}

function exportCommand(config: () => Config): Command {
  return new Command("export")
    .description("write a session with its log and files to one file")
    .argument("<session>")
    .option("--out <file>", "to this file instead of the standard output")
    .action(async (id: string, options: { out?: string }) => {
      const { exportSession } = await import("./sessions.ts");
      await exportSession(await reach(config()), id, options.out ?? process.stdout);
    });
}

function importCommand(config: () => Config, say: Say): Command {
  return new Command("import")
    .description("make a session of a file that `drover export` wrote, and print its id")
    .argument("<file>", "- for the standard input")
    .option("--environment <id>", "to go on in, instead of the one that the file names")
    .option("--new-ids", "as another session, beside one that has its ids", false)
    .addOption(workspaceOption())
    .action(
      async (
        file: string,
        options: { environment?: string; newIds: boolean; workspace?: string },
      ) => {
        const { importSession } = await import("./sessions.ts");
        say(await importSession(await reach(config()), file, options));
      },
    );
}

function forkCommand(config: () => Config, say: Say): Command {
  return new Command("fork")
    .description("make a session that goes on from an event of another one, and print its id")
    .argument("<session>")
    .option("--at <event>", "the last event that it has of the other one (default: the newest)")
    .option("--model <id>", "with another model")
    .option("--system <text>", "with another system prompt")
    .option("--title <text>", "with another title")
    .addOption(workspaceOption())
    .action(async (id: string, options: ForkOptions) => {
      const { forkSession } = await import("./sessions.ts");
      say(await forkSession(await reach(config()), id, forkParams(options)));
    });
}

interface ForkOptions {
  readonly at?: string;
  readonly model?: string;
  readonly system?: string;
  readonly title?: string;
  readonly workspace?: "empty";
}

function forkParams({ at, title, workspace, ...agent }: ForkOptions): SessionForkParams {
  return {
    ...(at !== undefined && { event_id: at }),
    ...(title !== undefined && { title }),
    ...(workspace !== undefined && { workspace }),
    ...(Object.keys(agent).length > 0 && { agent }),
  };
}

interface ReplayOptions {
  readonly model?: string;
  readonly system?: string;
  readonly from?: string;
  readonly to?: string;
  readonly max?: number;
  readonly json: boolean;
}

function replayCommand(config: () => Config, say: Say): Command {
  return new Command("replay")
    .description("ask another model at each request of a session, and show what it does otherwise")
    .argument("<session>")
    .option("--model <id>", "the model to ask (default: the session's own)")
    .option("--system <text>", "with another system prompt")
    .option("--from <event>", "only requests from this event on")
    .option("--to <event>", "only requests up to this event")
    .option("--max <n>", "ask at most so often (default: 20)", Number)
    .option("--json", "print the report as the server gives it", false)
    .action(async (id: string, { model, system, from, to, max, json }: ReplayOptions) => {
      const { replaySession } = await import("./replay.ts");
      const agent = {
        ...(model !== undefined && { model }),
        ...(system !== undefined && { system }),
      };
      const params = {
        ...(Object.keys(agent).length > 0 && { agent }),
        ...(from !== undefined && { from_event_id: from }),
        ...(to !== undefined && { to_event_id: to }),
        ...(max !== undefined && { max_requests: max }),
      };
      await replaySession(await reach(config()), id, { params, asJson: json, say });
    });
}

function handCommand(config: () => Config, say: Say): Command {
  return new Command("hand")
    .description("show where a session's sandbox has its files, or pass it to another session")
    .argument("<session>")
    .option("--to <session>", "the session that is to have it from now on")
    .action(async (id: string, { to }: { to?: string }) => {
      const { showHand } = await import("./sessions.ts");
      say(await showHand(await reach(config()), id, to));
    });
}

function workspaceOption(): Option {
  return new Option(
    "--workspace <which>",
    "empty: go on without the files of the other session's sandbox",
  ).choices(["empty"]);
}

async function reach(config: Config): Promise<RunningServer> {
  const { reachServer } = await import("./running-server.ts");
  return await reachServer(config);
}
