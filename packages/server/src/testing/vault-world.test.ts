import { testSessionCredentials } from "../core/ports/session-credentials.testsuite.ts";
import type { CredentialOffer } from "../core/ports/session-credentials.ts";
import { OAUTH, openVaultWorld } from "./vault-world.ts";

testSessionCredentials("asked of a server", async () => {
  const next = new Map<string, string>();
  const world = await openVaultWorld({
    send: async ({ body }) => {
      const token = new URLSearchParams(body).get("refresh_token") ?? "";
      const access_token = next.get(token);
      next.delete(token);
      return {
        type: "response",
        status: access_token === undefined ? 400 : 200,
        headers: {},
        body: Buffer.from(
          JSON.stringify(
            access_token === undefined ? { error: "invalid_grant" } : { access_token },
          ),
        ),
        isTruncated: false,
      };
    },
  });
  return {
    credentials: await world.openHands(),
    set: async (offer, secret) => {
      if (offer.type === "environment_variable") {
        const { secret_name, allowed_hosts, injection_location, credential_id: id } = offer;
        const networking =
          allowed_hosts === null
            ? { type: "unrestricted" as const }
            : { type: "limited" as const, allowed_hosts: [...allowed_hosts] };
        const auth = { type: offer.type, secret_name, networking, injection_location };
        await world.put(auth, { secret_value: secret }, { id });
      } else if (offer.type === "mcp_oauth") {
        const auth = { ...OAUTH, mcp_server_url: offer.mcp_server_url };
        const secrets = { access_token: secret, refresh_token: "refresh" };
        await world.put(auth, secrets, { id: offer.credential_id });
      }
    },
    remove: async (offer) => {
      const { workspace_id } = world.session;
      await world.store.write((tx) => tx.credentials.delete(workspace_id, idOf(offer)));
    },
    renewable: async (_offer, secret) => {
      next.set("refresh", secret);
    },
    settle: async () => world.clock.advance(1_001),
    recorded: async () => {
      const uses = await world.uses();
      return uses
        .filter(({ verdict }) => verdict === "released")
        .map(({ credential_id, host, purpose }) => `${credential_id} ${host} ${purpose}`);
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
});

function idOf(offer: CredentialOffer): string {
  return offer.type === "repository" ? offer.resource_id : offer.credential_id;
}
