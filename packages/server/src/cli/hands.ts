import type { Config } from "../config.ts";
import { forbidCoreDumps } from "./no-core-dumps.ts";

/** Runs the process that owns the sandboxes of a data folder. */
export async function hands(config: Config): Promise<void> {
  const unforbidden = forbidCoreDumps();
  if (unforbidden !== undefined) process.stderr.write(`${unforbidden}\n`);
  const { runHands } = await import("../hands/main.ts");
  await runHands({ config });
}
