/** What a sandbox may use in all; what is absent is not limited. */
export interface SandboxUse {
  /** Of all its processes and of what it keeps in memory file systems such as `/tmp`; swap included. */
  readonly memoryBytes?: number;
  /** Processors, such as 0.5. More is not refused, it only comes slower. */
  readonly cpus?: number;
  readonly processes: number;
  /** Of each process. */
  readonly openFiles: number;
  /** Of the file system that all of its folders are in which are not in memory. */
  readonly diskBytes?: number;
}

/** A limit that was met, and what happened by it. */
export type LimitHit =
  | { readonly type: "memory"; readonly limitBytes: number }
  /** Not the sandbox's limit: all memory of the machine, or of what the server runs in, was used. */
  | { readonly type: "machine_memory" }
  | { readonly type: "processes"; readonly limit: number }
  /** Its file system is full, or can have no more files. */
  | { readonly type: "disk"; readonly limitBytes: number; readonly of: "bytes" | "files" }
  /** Not the sandbox's limit: the file system of the host that its own is kept on is full. */
  | { readonly type: "machine_disk" };

const MB = 1024 * 1024;

/** What a model is told, the same words for the same hit. */
export function limitSentence(hit: LimitHit): string {
  switch (hit.type) {
    case "memory":
      return `killed: memory limit ${Math.floor(hit.limitBytes / MB)} MB (at least one process of the sandbox was ended by it)`;
    case "machine_memory":
      return "killed: the machine had no memory left (at least one process of the sandbox was ended for it)";
    case "processes":
      return `fork refused: limit of ${hit.limit} processes`;
    case "disk": {
      const full = hit.of === "bytes" ? "disk full" : "disk full of files";
      return `${full}: disk limit ${Math.floor(hit.limitBytes / MB)} MB (delete files in /workspace or /mnt/session/outputs to go on)`;
    }
    case "machine_disk":
      return "disk full: the machine's disk has no room left (what was written last may be lost)";
  }
}
