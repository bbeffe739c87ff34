import { existsSync } from "node:fs";
import { attempt } from "./run.js";
import { say } from "./say.js";

/** Programs of the machine that tests run inside sandboxes, to see what each of them reaches. */
const CLIENTS = ["curl", "git", "python3"];

/**
 * Installs those that are missing, as root. Sandboxes see the machine's `/usr/bin` and no other folder, so
 * one from elsewhere does not count. What stays missing fails the tests that run it.
 */
export function provideClients() {
  const missing = CLIENTS.filter((name) => !existsSync(`/usr/bin/${name}`));
  if (missing.length === 0 || process.getuid?.() !== 0) return;
  if (!attempt("apt-get", ["--version"]).ok) return;
  say(`Installing ${missing.join(" and ")} (apt-get) …`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const quietly = { env, timeoutMs: 300_000 };
  const update = attempt("apt-get", ["update"], quietly);
  const packages = ["install", "-y", "--no-install-recommends", ...missing];
  const install = attempt("apt-get", packages, quietly);
  if (!install.ok) say([update.ok ? "" : update.output, install.output].join("\n").trim());
}
