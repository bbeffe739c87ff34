import { type Operation, object, page } from "../operation.ts";
import { PageQuery } from "../pagination.ts";
import {
  ApiKey,
  ApiKeyCreated,
  ApiKeyCreateParams,
  ApiKeyListQuery,
  ApiKeyQuery,
  Workspace,
  WorkspaceCreateParams,
} from "../workspaces.ts";

export const workspaceOperations: readonly Operation[] = [
  {
    id: "drover.workspaces.create",
    method: "POST",
    path: "/v1/drover/workspaces",
    body: WorkspaceCreateParams,
    answer: object(Workspace),
  },
  {
    id: "drover.workspaces.list",
    method: "GET",
    path: "/v1/drover/workspaces",
    query: PageQuery,
    answer: page(Workspace),
  },
  {
    id: "drover.workspaces.retrieve",
    method: "GET",
    path: "/v1/drover/workspaces/{workspace_id}",
    answer: object(Workspace),
  },
  {
    id: "drover.apiKeys.create",
    method: "POST",
    path: "/v1/drover/api_keys",
    body: ApiKeyCreateParams,
    answer: object(ApiKeyCreated),
  },
  {
    id: "drover.apiKeys.list",
    method: "GET",
    path: "/v1/drover/api_keys",
    query: ApiKeyListQuery,
    answer: page(ApiKey),
  },
  {
    id: "drover.apiKeys.revoke",
    method: "POST",
    path: "/v1/drover/api_keys/{api_key_id}/revoke",
    query: ApiKeyQuery,
    answer: object(ApiKey),
  },
];
