import type { SandboxNetwork } from "../../core/ports/hands.ts";
import { type ProvisionRequest, SandboxUnavailableError } from "../../core/ports/sandbox.ts";
import type { EgressLedger } from "./egress-ledger.ts";
import type { SandboxExitOptions } from "./sandbox-exit.ts";
import type { SandboxAuthority } from "./trust/sandbox-authority.ts";
import type { WayOutOptions } from "./way-out.ts";

/** What a provider's sandboxes may dial at all. */
export interface ProviderEgress extends Pick<WayOutOptions, "guard" | "connect" | "limits"> {
  /** The certificates to trust instead of those that the machine does, as PEM. */
  readonly certificates?: string;
}

/** Of a sandbox with a gate: nobody else is spoken to. */
const NOBODY: SandboxNetwork = { type: "limited", hosts: [] };

interface ExitGiven {
  /** Undefined where no sandbox is to have a network. */
  readonly egress: ProviderEgress | undefined;
  /** Of a sandbox whose session has credentials. */
  readonly authority: SandboxAuthority | undefined;
  readonly ledger: EgressLedger;
  readonly onProblem: (error: unknown) => void;
}

/**
 * The way out that a sandbox is to be made with; undefined for one that has none. Throws
 * `SandboxUnavailableError` for one that needs it and cannot have it.
 */
export function exitOptions(
  { recipe, gate, secrets }: ProvisionRequest,
  { egress, authority, ledger, onProblem }: ExitGiven,
): Omit<SandboxExitOptions, "listeners"> | undefined {
  const network = gate === undefined ? recipe.network : NOBODY;
  if (network.type === "none") return undefined;
  if (egress === undefined) {
    throw new SandboxUnavailableError(
      gate === undefined
        ? "the session was made with a network and sandboxes are to have none (DROVER_SANDBOX_NETWORK)"
        : "sandboxes are to have no network (DROVER_SANDBOX_NETWORK)",
    );
  }
  const { certificates, ...rest } = { ...egress };
  return {
    ...{ ...rest, network, ledger, onProblem },
    ...(gate !== undefined && { gate }),
    ...(secrets !== undefined &&
      authority !== undefined && {
        secrets: { credentials: secrets.credentials, authority, certificates },
      }),
  };
}
