import { Command } from "commander";
import type { Config } from "../config.ts";

/** The command that shows who used which credential. */
export function auditCommand(config: () => Config, say: (text: string) => void): Command {
  return new Command("audit")
    .description("who used which credential for which host, as one JSON object a line")
    .option("--session <id>", "by this session alone")
    .option("--credential <id>", "of this credential alone")
    .action(async (filter: { session?: string; credential?: string }) => {
      const { audit } = await import("./audit.ts");
      const { reachServer } = await import("./running-server.ts");
      for await (const line of audit(await reachServer(config()), filter)) say(line);
    });
}
