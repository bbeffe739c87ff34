import type { PageRequest } from "./sessions.ts";

/** What keys and everything else belong to. */
export interface WorkspaceRecord {
  readonly id: string;
  readonly name: string;
  readonly created_at: string;
}

export interface Workspaces {
  find(id: string): Promise<WorkspaceRecord | undefined>;
  /** All of the installation. */
  list(page: PageRequest): Promise<readonly WorkspaceRecord[]>;
}

export interface WorkspaceWriter extends Workspaces {
  /** No effect if there is one with the id. */
  insert(workspace: WorkspaceRecord): Promise<void>;
}
