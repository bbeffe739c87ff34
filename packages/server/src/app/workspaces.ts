import {
  idPrefixes,
  type Page,
  type PageQuery,
  type Workspace,
  type WorkspaceCreateParams,
} from "@drover/api";
import { NotFoundError, PermissionError } from "../core/errors.ts";
import type { Store, StoreTransaction } from "../core/ports/store.ts";
import type { WorkspaceRecord } from "../core/ports/workspaces.ts";
import { type Cursors, readPage } from "./pagination.ts";
import type { NewId, Principal } from "./principal.ts";

/** There from the start. An admin of it is an admin of the whole installation. */
export const FIRST_WORKSPACE = "wrkspc_default";

export interface Workspaces {
  /** Only an admin of the first workspace may. */
  create(
    tx: StoreTransaction,
    principal: Principal,
    params: WorkspaceCreateParams,
  ): Promise<Workspace>;
  /** Only an admin may, and sees but the own one unless it is the first. */
  retrieve(principal: Principal, id: string): Promise<Workspace>;
  /** Newest first. Only an admin may, and sees but the own one unless it is the first. */
  list(principal: Principal, query: PageQuery): Promise<Page<Workspace>>;
}

interface WorkspacesOptions {
  readonly store: Store;
  readonly cursors: Cursors;
  readonly newId: NewId;
}

export function createWorkspaces({ store, cursors, newId }: WorkspacesOptions): Workspaces {
  return {
    create: async (tx, principal, { name }) => {
      if (!isInstallationAdmin(principal)) {
        throw new PermissionError("workspaces are made with an admin key of the first workspace");
      }
      const record = { id: newId(idPrefixes.workspace), name, created_at: tx.now };
      await tx.workspaces.insert(record);
      return workspaceOf(record);
    },
    retrieve: async (principal, id) => {
      assertAdmin(principal);
      return workspaceOf(await getWorkspace(store, principal, id));
    },
    list: async (principal, query) => {
      assertAdmin(principal);
      const { workspaceId } = principal;
      const { data, next_page } = await readPage({
        cursors,
        scope: { workspaceId, list: "workspaces", order: "desc" },
        query,
        read: async (page) => {
          if (isInstallationAdmin(principal)) return await store.workspaces.list(page);
          const own = await store.workspaces.find(workspaceId);
          return own === undefined ? [] : [own];
        },
        present: workspaceOf,
      });
      return { data, next_page };
    },
  };
}

/** Sees to it at start that the first workspace is there. */
export async function ensureFirstWorkspace(tx: StoreTransaction): Promise<void> {
  await tx.workspaces.insert({ id: FIRST_WORKSPACE, name: "Default", created_at: tx.now });
}

/** To others than its own admins and those of the first workspace, a workspace is not there. */
export async function getWorkspace(
  { workspaces }: Pick<Store, "workspaces">,
  principal: Principal,
  id: string,
): Promise<WorkspaceRecord> {
  const isVisible = id === principal.workspaceId || isInstallationAdmin(principal);
  const record = isVisible ? await workspaces.find(id) : undefined;
  if (record === undefined) throw new NotFoundError(`there is no workspace ${id}`);
  return record;
}

export function assertAdmin(principal: Principal): void {
  if (principal.role !== "admin") {
    throw new PermissionError(`workspaces and API keys need the role admin, not ${principal.role}`);
  }
}

function isInstallationAdmin({ role, workspaceId }: Principal): boolean {
  return role === "admin" && workspaceId === FIRST_WORKSPACE;
}

function workspaceOf({ id, name, created_at }: WorkspaceRecord): Workspace {
  return { id, type: "workspace", name, created_at };
}
