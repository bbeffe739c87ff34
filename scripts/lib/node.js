import { existsSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { ROOT } from "./paths.js";
import { attempt } from "./run.js";
import { giveUp } from "./say.js";

/** The oldest Node that runs the sources as they are: it strips types. The built program asks for less. */
const NODE_MIN = [22, 18];

/** True for a version such as `v24.1.0` that is not older than `NODE_MIN`. */
export function isNewEnough(version) {
  const [major = 0, minor = 0] = version.replace(/^v/, "").split(".").map(Number);
  return major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1]);
}

/**
 * The Node that everything else is run with: the one that npm brought, else this one. To be called
 * once packages are installed. Ends the script if there is none new enough.
 *
 * @returns {string} its path
 */
export function findNode() {
  const brought = join(ROOT, "node_modules", ".bin", "node");
  if (existsSync(brought) && isNewEnough(attempt(brought, ["--version"]).output)) return brought;
  if (isNewEnough(process.version)) return process.execPath;
  return giveUp(
    `This machine has Node ${process.version} and npm could not bring a newer one; install Node 24, delete node_modules and run this command again.`,
  );
}

/** The environment in which `node` and every installed tool mean the repository's own. */
export function toolEnvironment(node) {
  const bin = join(ROOT, "node_modules", ".bin");
  return { ...process.env, PATH: [dirname(node), bin, process.env.PATH].join(delimiter) };
}
