import type { Logger } from "pino";
import type { Config } from "../config.ts";
import type { Announcements } from "../core/ports/announcements.ts";
import type { Store } from "../core/ports/store.ts";
import { systemClock } from "../lib/system-clock.ts";
import { openPostgresStore } from "../store/postgres/postgres-store.ts";
import { openSqliteStore } from "../store/sqlite/sqlite-store.ts";

/** Opens the store that the settings name. */
export async function openStore(
  config: Config,
  announcements: Pick<Announcements, "publish">,
  log: Pick<Logger, "error" | "info">,
): Promise<Store> {
  const options = {
    clock: systemClock,
    announcements,
    onFailure: (error: Error) => log.error({ err: error }, "the store cannot write"),
    onRecovery: () => log.info("the store can write again"),
    unsafeIgnoreFence: config.test.unsafe.includes("fence"),
  };
  return config.postgresUrl === undefined
    ? openSqliteStore({ ...options, dataFolder: config.data })
    : await openPostgresStore({ ...options, url: config.postgresUrl.reveal() });
}
