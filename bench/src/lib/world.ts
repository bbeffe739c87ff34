import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Plan } from "../plan.ts";
import { type Model, startModel } from "./model.ts";
import { type Server, type ServerOptions, startServer } from "./server.ts";

/** What the sections of a run share: the model, a folder that is deleted afterwards, and how much to do. */
export interface World extends AsyncDisposable {
  readonly folder: string;
  readonly model: Model;
  readonly plan: Plan;
  newDataFolder(name: string): string;
  startServer(options: Omit<ServerOptions, "model">): Promise<Server>;
}

export async function createWorld(plan: Plan): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "drover-bench-"));
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  process.once("exit", remove);
  const model = await startModel();
  return {
    folder,
    model,
    plan,
    newDataFolder: (name) => {
      const data = join(folder, name);
      mkdirSync(data, { mode: 0o700 });
      return data;
    },
    startServer: (options) => startServer({ ...options, model }),
    [Symbol.asyncDispose]: async () => {
      await model[Symbol.asyncDispose]();
      remove();
    },
  };
}
