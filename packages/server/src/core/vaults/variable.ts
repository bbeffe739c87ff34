import type { CredentialAuth, CredentialAuthParams, CredentialAuthUpdateParams } from "@drover/api";
import { InvalidRequestError } from "../errors.ts";
import { type CredentialParts, given } from "./credential-parts.ts";
import { isReservedVariable } from "./reserved-variables.ts";

type Auth = Extract<CredentialAuth, { type: "environment_variable" }>;
type Locations = Auth["injection_location"];
type Params = Extract<CredentialAuthParams, { type: "environment_variable" }>;
type UpdateParams = Extract<CredentialAuthUpdateParams, { type: "environment_variable" }>;

/** Without `injection_location` the secret goes anywhere; in one, what is left out is off. */
export function newVariable(params: Params): CredentialParts {
  const { type, secret_name, secret_value, networking, injection_location: sent } = params;
  if (isReservedVariable(secret_name)) {
    throw new InvalidRequestError(
      `auth.secret_name: ${secret_name} has a meaning of its own in every sandbox; take another name`,
    );
  }
  const locations =
    sent === undefined
      ? { header: true, body: true }
      : { header: sent.header ?? false, body: sent.body ?? false };
  return {
    auth: { type, secret_name, networking, injection_location: checked(locations) },
    secrets: { secret_value },
  };
}

/** Locations are merged by key, networking is replaced as a whole. */
export function updatedVariable(current: Auth, params: UpdateParams): CredentialParts {
  const { header, body } = current.injection_location;
  const sent = params.injection_location;
  const locations = { header: sent?.header ?? header, body: sent?.body ?? body };
  return {
    auth: {
      ...current,
      networking: params.networking ?? current.networking,
      injection_location: checked(locations),
    },
    secrets: given({ secret_value: params.secret_value }),
  };
}

function checked(locations: Locations): Locations {
  if (locations.header || locations.body) return locations;
  throw new InvalidRequestError(
    "auth.injection_location: header or body must be enabled, or the secret could go nowhere",
  );
}
