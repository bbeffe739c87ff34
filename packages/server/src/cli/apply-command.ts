import { Command } from "commander";
import type { Config } from "../config.ts";

export function applyCommand(config: () => Config): Command {
  return new Command("apply")
    .description(
      "make agents, environments and skills what files say, after showing the difference",
    )
    .argument("<files...>", "YAML files, Markdown files, or folders of them")
    .option("--url <url>", "the server (default: the one of the data folder)")
    .option("--yes", "apply without asking", false)
    .option("--dry-run", "only show the difference; exits with 2 if there is one", false)
    .action(async (paths: string[], options: { url?: string; yes: boolean; dryRun: boolean }) => {
      const { apply, clientFor, terminal } = await import("./apply/apply.ts");
      const client = await clientFor(config(), options.url);
      process.exitCode = await apply(client, { ...options, paths }, terminal());
    });
}
