import { attempt } from "./run.js";
import { say } from "./say.js";

/**
 * The programs of a Docker Engine and gVisor, for tests that start an engine of their own. Finds those of
 * the machine or installs Debian's as root. An engine that the machine runs is never touched, and none is
 * started.
 *
 * @returns {{ path: string } | { missing: string, fix: string }}
 */
export function provideDocker() {
  if (isThere()) return { path: "dockerd" };
  const fix =
    "as root, on Debian, run: apt-get update && apt-get install -y --no-install-recommends docker.io runsc";
  if (process.platform !== "linux" || process.getuid?.() !== 0) {
    return {
      missing: "a Docker Engine of the tests' own can be started by root on Linux only",
      fix,
    };
  }
  if (!attempt("apt-get", ["--version"]).ok) {
    return { missing: "dockerd or runsc is not installed and there is no apt-get", fix };
  }
  install();
  return isThere()
    ? { path: "dockerd" }
    : { missing: "dockerd or runsc could not be installed", fix };
}

function isThere() {
  return attempt("dockerd", ["--version"]).ok && attempt("runsc", ["--version"]).ok;
}

function install() {
  say("Installing the Docker Engine and gVisor (apt-get) …");
  // Run level 1 is that of a machine in repair, in which packages start no services.
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
  const quietly = { env, timeoutMs: 600_000 };
  const update = attempt("apt-get", ["update"], quietly);
  const installed = attempt(
    "apt-get",
    ["install", "-y", "--no-install-recommends", "docker.io", "runsc"],
    quietly,
  );
  if (!installed.ok) say([update.ok ? "" : update.output, installed.output].join("\n").trim());
}
