import type { KeyRole } from "@drover/api";
import { Command, Option } from "commander";
import type { Config } from "../config.ts";
import type { RunningServer } from "./running-server.ts";

type Say = (text: string) => void;

const ROLES: readonly KeyRole[] = ["admin", "developer", "read_only"];

export function keysCommand(config: () => Config, say: Say): Command {
  const keys = new Command("keys").description("the keys that clients send");
  keys
    .command("show", { isDefault: true })
    .description("print the first one, making it if there is none")
    .action(async () => {
      const { apiKeyFor } = await import("./api-key.ts");
      say(apiKeyFor(config()).reveal());
    });
  keys
    .command("rotate")
    .description("replace the first one and revoke the one before; no server may run meanwhile")
    .action(async () => {
      const { rotateApiKey } = await import("./rotate-key.ts");
      say((await rotateApiKey(config())).reveal());
    });
  keys
    .command("create <name>")
    .description("make another one on the running server, and print it: it is shown this once")
    .addOption(new Option("--role <role>").choices(ROLES).default("developer"))
    .addOption(workspaceOption())
    .action(async (name: string, options: { role: KeyRole; workspace?: string }) => {
      const { createKey } = await import("./keys.ts");
      const server = await reach(config());
      say(await createKey(server, { name, ...options }));
    });
  keys
    .command("list")
    .description("all that were made, never the keys themselves")
    .addOption(workspaceOption())
    .action(async ({ workspace }: { workspace?: string }) => {
      const { listKeys } = await import("./keys.ts");
      const server = await reach(config());
      for (const line of await listKeys(server, workspace)) say(line);
    });
  keys
    .command("revoke <id>")
    .description("make one worth nothing, for good")
    .addOption(workspaceOption())
    .action(async (id: string, { workspace }: { workspace?: string }) => {
      const { revokeKey } = await import("./keys.ts");
      const server = await reach(config());
      await revokeKey(server, id, workspace);
      say(`Revoked ${id}.`);
    });
  return keys;
}

export function workspacesCommand(config: () => Config, say: Say): Command {
  const workspaces = new Command("workspaces").description("what keys and resources belong to");
  workspaces
    .command("create <name>")
    .description("make one on the running server, and print its id")
    .action(async (name: string) => {
      const { createWorkspace } = await import("./keys.ts");
      const server = await reach(config());
      say(await createWorkspace(server, name));
    });
  workspaces
    .command("list", { isDefault: true })
    .description("all that there are")
    .action(async () => {
      const { listWorkspaces } = await import("./keys.ts");
      const server = await reach(config());
      for (const line of await listWorkspaces(server)) say(line);
    });
  return workspaces;
}

function workspaceOption(): Option {
  return new Option("--workspace <id>", "of this workspace instead of the first");
}

async function reach(config: Config): Promise<RunningServer> {
  const { reachServer } = await import("./running-server.ts");
  return await reachServer(config);
}
