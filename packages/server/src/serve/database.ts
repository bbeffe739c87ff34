import type { Logger } from "pino";
import type { Config } from "../config.ts";
import type { Announcements } from "../core/ports/announcements.ts";
import type { Store } from "../core/ports/store.ts";
import type { Secret } from "../lib/secret.ts";
import { LocalAnnouncements } from "../store/local-announcements.ts";
import { PostgresAnnouncements } from "../store/postgres/postgres-announcements.ts";
import { openStore } from "./open-store.ts";

/** The database that the settings name, as one server uses it. */
export interface Database {
  readonly store: Store;
  readonly announcements: Announcements;
  close(): Promise<void>;
}

/** `holder` is the name under which this server holds its leases. */
export async function openDatabase(config: Config, holder: string, log: Logger): Promise<Database> {
  const onError = (error: unknown) => {
    log.error({ err: error }, "a listener of announcements threw");
  };
  if (config.postgresUrl === undefined) {
    const announcements = new LocalAnnouncements(onError);
    const store = await openStore(config, announcements, log);
    return { store, announcements, close: () => store.close() };
  }
  return await openShared(config.postgresUrl, { config, holder, log, onError });
}

interface SharedOptions {
  readonly config: Config;
  readonly holder: string;
  readonly log: Logger;
  readonly onError: (error: unknown) => void;
}

async function openShared(url: Secret, options: SharedOptions): Promise<Database> {
  const { config, holder, log, onError } = options;
  const announcements = await PostgresAnnouncements.open({ url: url.reveal(), holder, onError });
  try {
    const store = await openStore(config, announcements, log);
    return {
      store,
      announcements,
      close: async () => {
        await store.close();
        await announcements.close();
      },
    };
  } catch (error) {
    await announcements.close();
    throw error;
  }
}
