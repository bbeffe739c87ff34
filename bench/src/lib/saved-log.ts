import { join } from "node:path";
import { openWriter } from "../../../packages/server/src/store/sqlite/sqlite-file.ts";

/**
 * Sessions as they are at this moment, to be put back before each sample: else the thirtieth would wake
 * a longer context than the first. Only while no server has the folder open.
 */
export interface SavedLog {
  restore(): void;
}

export function saveLog(data: string): SavedLog {
  const saved = join(data, "..", "saved-log.db");
  const open = () => {
    const database = openWriter(join(data, "drover.db"), []);
    database.prepare("attach database ? as saved").run(saved);
    return database;
  };
  const database = open();
  database.exec(
    `create table saved.sessions as select * from main.sessions;
    create table saved.checkpoints as select * from main.checkpoints;`,
  );
  database.close();
  return {
    restore: () => {
      const restored = open();
      restored.exec(
        `begin immediate;
        delete from main.events where rowid in (
          select e.rowid from saved.sessions s join main.events e
          on e.session_key = s.session_key and e.seq > s.last_seq
        );
        delete from main.inbox;
        replace into main.sessions select * from saved.sessions;
        replace into main.checkpoints select * from saved.checkpoints;
        commit;`,
      );
      restored.close();
    },
  };
}
