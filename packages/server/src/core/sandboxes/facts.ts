/** What a sandbox is limited to, and whether anything enforces it. */
export interface LimitFact {
  readonly limit: number;
  readonly enforced: boolean;
}

/** What one sandbox was made as. Null for what it is not to be limited in. */
export interface SandboxFacts {
  readonly provider: string;
  /** `root`: a kernel uid of its own. */
  readonly mode: "root" | "rootless";
  readonly limits: {
    readonly memory_bytes: LimitFact | null;
    readonly cpus: LimitFact | null;
    readonly processes: LimitFact;
    readonly open_files: LimitFact;
    readonly file_bytes: LimitFact;
    readonly disk_bytes: LimitFact | null;
  };
}
