import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plan } from "../plan.ts";
import { type Model, startModel } from "./model.ts";
import { type Server, type ServerOptions, startServer } from "./server.ts";

/** What the sections of a run share: the model, a folder that is deleted afterwards, and how much to do. */
export interface World extends AsyncDisposable {
  readonly folder: string;
  readonly model: Model;
  readonly plan: Plan;
  /** Of a database on a PostgreSQL server for this run; undefined if there is none. */
  readonly postgresUrl: ((database: string) => string) | undefined;
  newDataFolder(name: string): string;
  startServer(options: Omit<ServerOptions, "model" | "program">): Promise<Server>;
}

const SERVER = fileURLToPath(new URL("../../../packages/server", import.meta.url));
/** Below the installed packages, so that the one dependency of the build is found from there. */
const COPIES = fileURLToPath(new URL("../../../node_modules/.cache/drover/bench", import.meta.url));

export async function createWorld(plan: Plan, postgresSocket?: string): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "drover-bench-"));
  const copy = copyBuild();
  const remove = () => {
    for (const path of [folder, copy]) {
      rmSync(path, { recursive: true, force: true, maxRetries: 3 });
    }
  };
  process.once("exit", remove);
  const model = await startModel();
  return {
    folder,
    model,
    plan,
    postgresUrl:
      postgresSocket === undefined
        ? undefined
        : (database) =>
            `postgres://drover@localhost/${database}?host=${encodeURIComponent(postgresSocket)}`,
    newDataFolder: (name) => {
      const data = join(folder, name);
      mkdirSync(data, { mode: 0o700 });
      return data;
    },
    startServer: (options) =>
      startServer({ ...options, model, program: join(copy, "bin", "drover.js") }),
    [Symbol.asyncDispose]: async () => {
      await model[Symbol.asyncDispose]();
      remove();
    },
  };
}

/** What the npm package holds, as it is now: a build that is made meanwhile changes nothing. */
function copyBuild(): string {
  mkdirSync(COPIES, { recursive: true });
  const copy = mkdtempSync(join(COPIES, "build-"));
  for (const name of ["bin", "dist", "package.json"]) {
    cpSync(join(SERVER, name), join(copy, name), { recursive: true });
  }
  return copy;
}
