import type { Config } from "../config.ts";

/** Runs the process that owns the sandboxes of a data folder. */
export async function hands(config: Config): Promise<void> {
  const { runHands } = await import("../hands/main.ts");
  await runHands({ config });
}
