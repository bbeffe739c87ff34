import { join } from "node:path";
import type { ProvisionRequest } from "../../../core/ports/sandbox.ts";
import { isReservedVariable } from "../../../core/vaults/reserved-variables.ts";
import { SandboxAuthority } from "../../egress/trust/sandbox-authority.ts";
import { TRUST_VARIABLES, writeTrustFiles } from "../../egress/trust/trust-files.ts";

/** What a sandbox is made with for the credentials of its session. */
export interface SecretOutfit {
  /** Absent without a network, where nothing is put into requests. */
  readonly authority: SandboxAuthority | undefined;
  /** Placeholders by the names of their variables, and what makes programs trust the authority. */
  readonly variables: Readonly<Record<string, string>>;
}

/** Undefined for a sandbox that is no session's, or of one without credentials. Rejects as `variables` does. */
export async function secretOutfit(
  { secrets, recipe, gate }: ProvisionRequest,
  signal: AbortSignal,
): Promise<SecretOutfit | undefined> {
  if (secrets === undefined) return undefined;
  const named = Object.entries(await secrets.variables(signal));
  const placeholders = Object.fromEntries(named.filter(([name]) => !isReservedVariable(name)));
  if (recipe.network.type === "none" || gate !== undefined) {
    return { authority: undefined, variables: placeholders };
  }
  return {
    authority: new SandboxAuthority(),
    variables: { ...placeholders, ...TRUST_VARIABLES },
  };
}

/** The folder of what the sandbox's programs trust, made anew; undefined where they trust what the machine does. */
export function makeTrustTree(
  handFolder: string,
  outfit: SecretOutfit | undefined,
): string | undefined {
  if (outfit?.authority === undefined) return undefined;
  const folder = join(handFolder, "trust");
  writeTrustFiles(folder, outfit.authority);
  return folder;
}
