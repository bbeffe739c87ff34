import {
  CredentialBinding,
  CredentialBindingParams,
  CredentialUse,
  CredentialUseListQuery,
} from "../credential-uses.ts";
import {
  Credential,
  CredentialCreateParams,
  CredentialDeleted,
  CredentialListQuery,
  CredentialUpdateParams,
  CredentialValidation,
} from "../credentials.ts";
import { type Operation, object, page } from "../operation.ts";
import {
  Vault,
  VaultCreateParams,
  VaultDeleted,
  VaultListQuery,
  VaultUpdateParams,
} from "../vaults.ts";

const VAULT = "/v1/vaults/{vault_id}";
const CREDENTIALS = `${VAULT}/credentials`;
const BINDING = "/v1/drover/vaults/{vault_id}/credentials/{credential_id}/binding";
const CREDENTIAL = `${CREDENTIALS}/{credential_id}`;

export const vaultOperations: readonly Operation[] = [
  {
    id: "vaults.create",
    method: "POST",
    path: "/v1/vaults",
    body: VaultCreateParams,
    answer: object(Vault),
  },
  {
    id: "vaults.list",
    method: "GET",
    path: "/v1/vaults",
    query: VaultListQuery,
    answer: page(Vault),
  },
  { id: "vaults.retrieve", method: "GET", path: VAULT, answer: object(Vault) },
  {
    id: "vaults.update",
    method: "POST",
    path: VAULT,
    body: VaultUpdateParams,
    answer: object(Vault),
  },
  { id: "vaults.delete", method: "DELETE", path: VAULT, answer: object(VaultDeleted) },
  { id: "vaults.archive", method: "POST", path: `${VAULT}/archive`, answer: object(Vault) },
  {
    id: "vaults.credentials.create",
    method: "POST",
    path: CREDENTIALS,
    body: CredentialCreateParams,
    answer: object(Credential),
  },
  {
    id: "vaults.credentials.list",
    method: "GET",
    path: CREDENTIALS,
    query: CredentialListQuery,
    answer: page(Credential),
  },
  {
    id: "vaults.credentials.retrieve",
    method: "GET",
    path: CREDENTIAL,
    answer: object(Credential),
  },
  {
    id: "vaults.credentials.update",
    method: "POST",
    path: CREDENTIAL,
    body: CredentialUpdateParams,
    answer: object(Credential),
  },
  {
    id: "vaults.credentials.delete",
    method: "DELETE",
    path: CREDENTIAL,
    answer: object(CredentialDeleted),
  },
  {
    id: "vaults.credentials.archive",
    method: "POST",
    path: `${CREDENTIAL}/archive`,
    answer: object(Credential),
  },
  {
    id: "vaults.credentials.mcpOAuthValidate",
    method: "POST",
    path: `${CREDENTIAL}/mcp_oauth_validate`,
    answer: object(CredentialValidation),
  },
  {
    id: "drover.credentialUses.list",
    method: "GET",
    path: "/v1/drover/credential_uses",
    query: CredentialUseListQuery,
    answer: page(CredentialUse),
  },
  {
    id: "drover.credentials.binding.retrieve",
    method: "GET",
    path: BINDING,
    answer: object(CredentialBinding),
  },
  {
    id: "drover.credentials.binding.update",
    method: "POST",
    path: BINDING,
    body: CredentialBindingParams,
    answer: object(CredentialBinding),
  },
];
