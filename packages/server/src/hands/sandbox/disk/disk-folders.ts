import type { MemoryFolder } from "../../memory/copy-folder.ts";

const OWN = ["workspace", "outputs", "spill"];

/** The folders at the top of a hand's disk: all that its sandbox can write, but for what is in memory. */
export function diskFolders(memory: readonly MemoryFolder[] = []): readonly string[] {
  return [...OWN, ...memory.flatMap(({ name, isWritable }) => (isWritable ? [name] : []))];
}
