import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's top folder. */
export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Where programs are kept that npm cannot bring; outside the repository, so that `npm ci` keeps them. */
export const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "drover");

export const SERVER = join(ROOT, "packages", "server");
export const CONFORMANCE = join(ROOT, "packages", "conformance");
