// `npm run demo`: brings everything the demo needs, then runs `drover demo` with the same arguments.
import { join } from "node:path";
import { provideBubblewrap } from "./lib/bubblewrap.js";
import { installPackages } from "./lib/install.js";
import { findNode, toolEnvironment } from "./lib/node.js";
import { SERVER } from "./lib/paths.js";
import { run } from "./lib/run.js";
import { giveUp } from "./lib/say.js";

await installPackages();
const node = findNode();
const bubblewrap = provideBubblewrap();
if ("missing" in bubblewrap) {
  giveUp(`The demo needs a sandbox, but ${bubblewrap.missing}; ${bubblewrap.fix}.`);
}
const env = toolEnvironment(node);
if ((await run(node, ["scripts/build.js"], { env })) !== 0) {
  giveUp("The server could not be built, see above.");
}
const drover = join(SERVER, "bin", "drover.js");
process.exitCode = await run(node, [drover, "demo", ...process.argv.slice(2)], { env });
