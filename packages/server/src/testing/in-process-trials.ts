import type { Clock } from "../core/ports/clock.ts";
import type { CredentialBroker } from "../core/ports/credential-broker.ts";
import type { CredentialTrials } from "../core/ports/credential-trials.ts";
import type { Egress } from "../core/ports/egress.ts";
import type { SecretBox } from "../core/ports/secret-box.ts";
import type { SecretCarrier } from "../core/ports/secret-carrier.ts";
import { carrySecrets } from "../hands/credentials/carry-secrets.ts";
import { TokenExchanger } from "../hands/credentials/token-exchanger.ts";
import { tryCredential } from "../hands/credentials/try-credential.ts";

/** Carries secrets as hands do. */
export function inProcessCarrier(secretBox: SecretBox): SecretCarrier {
  return {
    carry: async (moves) => ({ type: "carried", sealed: carrySecrets(secretBox, moves) }),
  };
}

/** Trials as hands make them, without a process of their own. */
export function inProcessTrials({
  egress,
  secretBox,
  clock,
  broker,
}: {
  readonly egress: Egress;
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  readonly broker: CredentialBroker;
}): CredentialTrials {
  const ask = (question: Parameters<CredentialBroker["answer"]>[0]) => broker.answer(question);
  const exchanger = new TokenExchanger({ ask, secretBox, egress, clock });
  return { try: (credential) => tryCredential(credential, { egress, secretBox, exchanger }) };
}
