import type { CredentialAuth, CredentialAuthParams, CredentialAuthUpdateParams } from "@drover/api";
import { InvalidRequestError } from "../errors.ts";
import { type CredentialParts, given } from "./credential-parts.ts";
import { newOAuth, updatedOAuth } from "./oauth.ts";
import { normalizedUrl } from "./server-url.ts";
import { newVariable, updatedVariable } from "./variable.ts";

/** The parts of a new credential (wire §9). `now` is RFC 3339. */
export function newCredential(params: CredentialAuthParams, now: string): CredentialParts {
  switch (params.type) {
    case "static_bearer": {
      const { type, mcp_server_url, token } = params;
      return { auth: { type, mcp_server_url }, secrets: { token } };
    }
    case "mcp_oauth":
      return newOAuth(params, now);
    case "environment_variable":
      return newVariable(params);
  }
}

/**
 * The parts after an update (wire §9): what is left out or null is kept. Rejects another type than the
 * credential has.
 */
export function updatedCredential(
  current: CredentialAuth,
  params: CredentialAuthUpdateParams,
  now: string,
): CredentialParts {
  if (current.type === "static_bearer" && params.type === "static_bearer") {
    return { auth: current, secrets: given({ token: params.token }) };
  }
  if (current.type === "mcp_oauth" && params.type === "mcp_oauth") {
    return updatedOAuth(current, params, now);
  }
  if (current.type === "environment_variable" && params.type === "environment_variable") {
    return updatedVariable(current, params);
  }
  throw new InvalidRequestError(
    `auth.type: a credential of type ${current.type} cannot become ${params.type}`,
  );
}

/** What a credential is for, which a vault has one active credential of. */
export function keyOfAuth(auth: CredentialAuth): string {
  return auth.type === "environment_variable"
    ? `secret_name ${auth.secret_name}`
    : `mcp_server_url ${normalizedUrl(auth.mcp_server_url)}`;
}
