import { testSessionCredentials } from "../../core/ports/session-credentials.testsuite.ts";
import { ScriptedCredentials } from "./scripted-credentials.ts";

testSessionCredentials("scripted", async () => {
  const credentials = new ScriptedCredentials();
  return {
    credentials,
    set: async (offer, secret) => credentials.set(offer, secret),
    remove: async (offer) => {
      if (offer.type !== "repository") credentials.remove(offer.credential_id);
    },
    renewable: async ({ credential_id }, secret) => {
      credentials.renewals.set(credential_id, secret);
    },
    settle: async () => undefined,
    recorded: async () =>
      credentials.uses.map(({ id, host, purpose }) => `${id} ${host} ${purpose}`),
    [Symbol.asyncDispose]: async () => undefined,
  };
});
