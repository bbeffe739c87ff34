import { spawn } from "node:child_process";
import { chownSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findPostgres } from "./postgres.js";
import { attempt } from "./run.js";
import { say } from "./say.js";

/**
 * vitest calls this before the tests of a project: it begins to start a PostgreSQL server for them, in
 * a folder of its own and on a socket in it, and tells them where. They wait for it if they need it.
 *
 * The server ends with this process, however that ends: what starts it waits for the end of its input.
 * Nothing is synced, since no test ends the machine; what a killed Drover leaves is there all the same.
 */
export function setup({ provide }) {
  const bin = findPostgres();
  if (bin === undefined) {
    provide("postgres", { missing: "There is no PostgreSQL here; `npm test` brings it." });
    return undefined;
  }
  say(`${attempt(join(bin, "postgres"), ["--version"]).output} for the tests (${bin})`);
  const folder = mkdtempSync(join(tmpdir(), "drover-pg-"));
  const user = unprivilegedUser();
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const server = spawn("sh", ["-c", SERVE, "serve", bin, folder], {
    ...user,
    cwd: folder,
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  const ended = new Promise((resolve) => server.once("exit", resolve).once("error", resolve));
  provide("postgres", { socketFolder: folder, logFile: join(folder, "log") });
  return async () => {
    server.stdin.end();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
}

/** Whoever watches the input ends the server whenever it comes up, also if the tests were over before. */
const SERVE = `
bin=$1; folder=$2
exec 3<&0
(
  while read -r line <&3; do :; done
  touch "$folder/ending"
  until [ -e "$folder/ended" ]; do
    pid=$(head -n 1 "$folder/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$pid" 2>/dev/null
    sleep 0.1
  done
) &
"$bin/initdb" -D "$folder/data" -U drover -A trust -E UTF8 --locale=C --no-sync >"$folder/log" 2>&1 </dev/null &&
  [ ! -e "$folder/ending" ] &&
  "$bin/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= -c fsync=off -c full_page_writes=off \\
    -c max_connections=300 -c autovacuum=off >>"$folder/log" 2>&1 </dev/null
touch "$folder/ended"
wait
cd /; rm -rf "$folder"
`;

/** PostgreSQL refuses to run as root. */
function unprivilegedUser() {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const [, , uid, gid] =
    users.find(([name]) => name === "postgres") ?? users.find(([name]) => name === "nobody") ?? [];
  return { uid: Number(uid), gid: Number(gid) };
}
