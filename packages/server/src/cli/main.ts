import { Command } from "commander";
import { type Config, loadConfig } from "../config.ts";
import { VERSION } from "../lib/version.ts";
import { applyCommand } from "./apply-command.ts";
import { auditCommand } from "./audit-command.ts";
import { baseCommand } from "./base-command.ts";
import { failureSentence, failureStack } from "./failure.ts";
import { keysCommand, workspacesCommand } from "./keys-command.ts";
import { sessionCommands } from "./sessions-command.ts";

/** Each command's own code is loaded when it is asked for, so that `drover --help` is quick. */
function program(): Command {
  const drover = new Command("drover")
    .description("Open, self-hosted Managed Agents server.")
    .version(VERSION)
    .option("--data <folder>", "the data folder (DROVER_DATA)")
    .option("--port <port>", "the port to listen on (DROVER_PORT)")
    .option("--config <file>", "a YAML file of settings (DROVER_CONFIG)");
  const config = () => configOf(drover.opts());

  drover
    .command("serve")
    .description("run the server until it is stopped")
    .action(async () => (await import("./serve.ts")).serve(config()));
  drover
    .command("hands")
    .description("run the process that owns the sandboxes (the server starts one by itself)")
    .action(async () => (await import("./hands.ts")).hands(config()));
  drover
    .command("stop")
    .description("end the server of the data folder")
    .option("--hands", "end its sandboxes too", false)
    .action(async (options: { hands: boolean }) => {
      const { stop } = await import("./stop.ts");
      const stopped = await stop({ data: config().data, hands: options.hands });
      say(stopped.length === 0 ? "Nothing was running." : `Stopped ${stopped.join(" and ")}.`);
    });
  drover
    .command("doctor")
    .description("find out, by running a real sandbox, what this machine can enforce")
    .option("--ask-models", "ask the providers of models, with their keys, which models they have")
    .action(async ({ askModels = false }: { askModels?: boolean }) => {
      const { examine } = await import("./doctor.ts");
      const report = await examine(config(), { models: askModels });
      say(report.lines.join("\n"));
      process.exitCode = report.isHealthy ? 0 : 1;
    });
  drover.addCommand(applyCommand(config));
  drover.addCommand(baseCommand(config, say));
  drover.addCommand(keysCommand(config, say));
  drover.addCommand(workspacesCommand(config, say));
  for (const command of sessionCommands(config, say)) drover.addCommand(command);
  drover.addCommand(auditCommand(config, say));
  drover
    .command("rotate-encryption-key")
    .description("put stored secrets under a new encryption key, while servers run")
    .action(async () => {
      const { rotateEncryptionKey } = await import("./rotate-encryption-key.ts");
      const dot = (renewed: number) => renewed > 0 && process.stderr.write(".");
      say(await rotateEncryptionKey(config(), dot));
    });
  drover
    .command("demo")
    .description("an agent analyses a data set while its server is killed")
    .option("--model <id>", "the model to use, if one is configured")
    .option("--once", "stop the server at the end", false)
    .option("--drop-rows <n>", "leave out the last n rows of the data set", Number, 0)
    .option("--out <file>", "also write the fetched report to a file")
    .action(async (options: { model?: string; once: boolean; dropRows: number; out?: string }) => {
      const { demo } = await import("./demo/demo.ts");
      await demo({ ...options, config: config() });
    });
  return drover;
}

function configOf(options: { data?: string; port?: string; config?: string }): Config {
  const config = loadConfig(undefined, {
    ...(options.data === undefined ? {} : { DROVER_DATA: options.data }),
    ...(options.port === undefined ? {} : { DROVER_PORT: options.port }),
    ...(options.config === undefined ? {} : { DROVER_CONFIG: options.config }),
  });
  showsStacks = ["debug", "trace"].includes(config.logLevel);
  return config;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

let showsStacks = false;

try {
  await program().parseAsync();
} catch (error) {
  process.stderr.write(`${failureSentence(error)}\n`);
  if (showsStacks) process.stderr.write(`${failureStack(error)}\n`);
  process.exit(1);
}
