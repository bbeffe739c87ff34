// `npm run bench`: brings everything the benchmark needs, builds the server and measures it.
import { provideBubblewrap } from "./lib/bubblewrap.js";
import { installPackages } from "./lib/install.js";
import { findNode, toolEnvironment } from "./lib/node.js";
import { run } from "./lib/run.js";
import { giveUp } from "./lib/say.js";
import { setup as startPostgres } from "./lib/vitest-postgres.js";

await installPackages();
const node = findNode();
const bubblewrap = provideBubblewrap();
if ("missing" in bubblewrap) {
  giveUp(`The benchmark needs a sandbox, but ${bubblewrap.missing}; ${bubblewrap.fix}.`);
}
const env = toolEnvironment(node);
if ((await run(node, ["scripts/build.js"], { env })) !== 0) {
  giveUp("The server could not be built, see above.");
}
let postgres = {};
const stopPostgres = startPostgres({ provide: (_name, server) => (postgres = server) });
const bench = [
  "--conditions=drover-source",
  "bench/src/main.ts",
  ...("socketFolder" in postgres ? [`--postgres-socket=${postgres.socketFolder}`] : []),
  ...process.argv.slice(2),
];
process.exitCode = await run(node, bench, { env });
await stopPostgres?.();
