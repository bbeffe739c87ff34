import { type SandboxSecrets, SandboxUnavailableError } from "../../core/ports/sandbox.ts";
import type { SessionCredentials } from "../../core/ports/session-credentials.ts";

/** What a sandbox is made with for the credentials of its session. */
export function sandboxSecrets(credentials: SessionCredentials): SandboxSecrets {
  return {
    credentials,
    variables: async (signal) => {
      const answer = await credentials.offers(signal);
      if (answer.type === "unavailable") {
        throw new SandboxUnavailableError(
          `what it may use of the session's vaults cannot be asked for: ${answer.message}`,
        );
      }
      return Object.fromEntries(
        answer.offers.flatMap((offer) =>
          offer.type === "environment_variable" ? [[offer.secret_name, offer.placeholder]] : [],
        ),
      );
    },
  };
}
