import { existsSync } from "node:fs";
import { attempt } from "./run.js";
import { say } from "./say.js";

/**
 * Programs of the machine that tests run, most of them inside sandboxes, and the Debian packages that
 * bring them.
 */
const CLIENTS = {
  curl: "curl",
  git: "git",
  python3: "python3",
};

const INSTALLERS = {
  // Those that install packages, each from a registry that a test serves.
  cargo: "cargo",
  gem: "ruby",
  go: "golang-go",
  pip3: "python3-pip",
  // Builds a root file system.
  mmdebstrap: "mmdebstrap",
};

/**
 * Installs those that are missing, as root. Sandboxes see the machine's `/usr/bin` and no other folder, so
 * one from elsewhere does not count. What stays missing fails the tests that run it.
 *
 * @param {{ installers: boolean }} wanted whether those that make layers and root file systems are
 */
export function provideClients({ installers }) {
  const missing = Object.entries({ ...CLIENTS, ...(installers && INSTALLERS) })
    .filter(([program]) => !existsSync(`/usr/bin/${program}`))
    .map(([, name]) => name);
  if (missing.length === 0 || process.getuid?.() !== 0) return;
  if (!attempt("apt-get", ["--version"]).ok) return;
  say(`Installing ${missing.join(", ")} (apt-get) …`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const quietly = { env, timeoutMs: 300_000 };
  const update = attempt("apt-get", ["update"], quietly);
  const packages = ["install", "-y", "--no-install-recommends", ...missing];
  const install = attempt("apt-get", packages, quietly);
  if (!install.ok) say([update.ok ? "" : update.output, install.output].join("\n").trim());
}
