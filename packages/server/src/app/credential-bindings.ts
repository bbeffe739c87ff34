import { CredentialAuth, type CredentialBinding, type CredentialBindingParams } from "@drover/api";
import { InvalidRequestError, NotFoundError } from "../core/errors.ts";
import type { CredentialBinding as Binding } from "../core/ports/session-credentials.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import type { CredentialPlace } from "./credentials.ts";

/** The requests that a credential may be put into. */
export async function retrieveBinding(
  tx: StoreTransaction,
  workspaceId: string,
  place: CredentialPlace,
): Promise<CredentialBinding> {
  await assertBindable(tx, workspaceId, place);
  const bindings = await tx.credentials.findBindings(workspaceId, [place.id]);
  return toBinding(place, bindings[place.id]);
}

export async function updateBinding(
  tx: StoreTransaction,
  workspaceId: string,
  place: CredentialPlace,
  { methods, paths }: CredentialBindingParams,
): Promise<CredentialBinding> {
  await assertBindable(tx, workspaceId, place);
  const binding: Binding = {
    ...(methods !== null && methods !== undefined && { methods }),
    ...(paths !== null && paths !== undefined && { paths }),
  };
  const isBound = Object.keys(binding).length > 0;
  await tx.credentials.putBinding(workspaceId, place.id, isBound ? binding : undefined);
  return toBinding(place, binding);
}

/** Tokens of MCP servers go into requests that hands make, and those alone. */
async function assertBindable(
  tx: StoreTransaction,
  workspaceId: string,
  { vaultId, id }: CredentialPlace,
): Promise<void> {
  const record = await tx.credentials.find(workspaceId, vaultId, id);
  if (record === undefined) throw new NotFoundError(`there is no credential ${id} in ${vaultId}`);
  const { type } = CredentialAuth.parse(record.auth);
  if (type !== "environment_variable") {
    throw new InvalidRequestError(
      `credential ${id} is of type ${type}: only one of type environment_variable is bound to requests`,
    );
  }
}

function toBinding(
  { vaultId, id }: CredentialPlace,
  { methods, paths }: Binding = {},
): CredentialBinding {
  return {
    type: "credential_binding",
    credential_id: id,
    vault_id: vaultId,
    methods: methods === undefined ? null : [...methods],
    paths: paths === undefined ? null : [...paths],
  };
}
