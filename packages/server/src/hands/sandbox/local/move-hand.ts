import { mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { failPoint } from "../../../lib/fail-point.ts";
import type { HandFolder } from "./hand-folder.ts";
import { type LaunchRecord, type ProcessRecord, saveRecord } from "./process-record.ts";

/** The disk before the folders, which without it would be taken for all there is; then what tells the uid. */
const FIRST = ["disk.ext4", "workspace"];

/**
 * Gives the folder of a hand, which may be there and has none of it, all that another has, with the sandbox that
 * runs there: what it is shown follows the folders and not their names. From before anything is moved both
 * folders have the record of it, so that whoever comes after a death ends it, whichever folder is looked at; what
 * was moved by then is the hand's, as if its sandbox had died, and the rest goes with the other folder.
 */
export function moveHand(
  from: HandFolder,
  to: HandFolder,
  record: LaunchRecord | ProcessRecord,
): void {
  mkdirSync(to.path, { recursive: true, mode: 0o700 });
  const names = readdirSync(from.path).filter((name) => !name.startsWith("sandbox.json"));
  const isMounted = "mount" in record && record.mount !== undefined;
  saveRecord(to.path, isMounted ? { ...record, mount: to.stage } : record);
  failPoint("hands.warm.after_record");
  const first = FIRST.filter((name) => names.includes(name));
  for (const name of [...first, ...names.filter((name) => !first.includes(name))]) {
    renameSync(join(from.path, name), join(to.path, name));
    failPoint("hands.warm.after_entry");
  }
  failPoint("hands.warm.after_move");
  rmSync(from.path, { recursive: true });
}
