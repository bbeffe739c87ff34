// What a campaign runs instead of `drover`, beside a copy of the bundle. Each life of the hands takes
// the next death from the world's list: it is the server that starts them, and it passes on nothing.
import { readdirSync, readFileSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";

const HANDS_RUNNING_EXIT_CODE = 75;

if (process.argv[2] === "hands") takeDeath(join(dirname(process.env.DROVER_DATA), "deaths"));
await import("./drover.mjs");

function takeDeath(folder) {
  for (const name of readdirSync(folder).sort()) {
    const [number, state] = name.split(".");
    if (state !== "todo") continue;
    const todo = join(folder, name);
    const taken = join(folder, `${number}.${process.pid}`);
    try {
      renameSync(todo, taken);
    } catch {
      // Hands that were started at the same moment took it.
      continue;
    }
    const point = readFileSync(taken, "utf8");
    if (point !== "") process.env.DROVER_TEST_FAIL_POINT = point;
    process.on("exit", (code) => {
      // Others have the lock, so this was no life; any other orderly end is told.
      renameSync(taken, code === HANDS_RUNNING_EXIT_CODE ? todo : `${taken}.exit-${code}`);
    });
    return;
  }
}
