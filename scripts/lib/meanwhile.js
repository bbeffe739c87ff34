import { fork } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "./paths.js";

/**
 * Begins to install the Docker Engine, gVisor and the package managers: minutes of apt-get, for which the
 * suites that run none of it do not wait. To be called while nothing else uses apt-get.
 *
 * @returns {Promise<{ docker: { path: string } | { missing: string, fix: string } }>}
 */
export function provideMeanwhile() {
  const child = fork(join(ROOT, "scripts", "provide.js"));
  return new Promise((resolve) => {
    child.once("message", resolve);
    child.once("error", ({ message }) => resolve({ docker: broken(message) }));
    child.once("exit", (code, signal) =>
      resolve({ docker: broken(`it ended with ${signal ?? code}`) }),
    );
  });
}

function broken(why) {
  return { missing: `the installing broke: ${why}`, fix: "run this command again" };
}
