import type { ApiKey, ApiKeyCreated, KeyRole, Workspace } from "@drover/api";
import type { RunningServer } from "./running-server.ts";

const KEYS = "/v1/drover/api_keys";
const WORKSPACES = "/v1/drover/workspaces";

/** Gives the key itself, which nobody can ask for again. */
export async function createKey(
  server: RunningServer,
  params: { name: string; role: KeyRole; workspace?: string },
): Promise<string> {
  const { name, role, workspace: workspace_id } = params;
  return (await server.post<ApiKeyCreated>(KEYS, { name, role, workspace_id })).key;
}

/** One line a key, newest first. */
export async function listKeys(server: RunningServer, workspace?: string): Promise<string[]> {
  const keys = await server.list<ApiKey>(KEYS, { workspace_id: workspace });
  return keys.map(({ id, role, created_at, revoked_at, name }) =>
    [id, role.padEnd(9), created_at, revoked_at === null ? "live   " : "revoked", name].join("  "),
  );
}

export async function revokeKey(
  server: RunningServer,
  id: string,
  workspace?: string,
): Promise<void> {
  const query =
    workspace === undefined ? "" : `?${new URLSearchParams({ workspace_id: workspace })}`;
  await server.post<ApiKey>(`${KEYS}/${encodeURIComponent(id)}/revoke${query}`);
}

/** Gives its id. */
export async function createWorkspace(server: RunningServer, name: string): Promise<string> {
  return (await server.post<Workspace>(WORKSPACES, { name })).id;
}

/** One line a workspace, newest first. */
export async function listWorkspaces(server: RunningServer): Promise<string[]> {
  const workspaces = await server.list<Workspace>(WORKSPACES);
  return workspaces.map(({ id, created_at, name }) => [id, created_at, name].join("  "));
}
