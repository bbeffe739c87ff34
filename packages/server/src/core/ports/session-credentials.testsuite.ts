import { describe, expect, test } from "vitest";
import { Secret } from "../../lib/secret.ts";
import type {
  CredentialOffer,
  CredentialRelease,
  McpOffer,
  SessionCredentials,
  VariableOffer,
} from "./session-credentials.ts";

/** One session's credentials, and hands on them from the other side. */
export interface CredentialsWorld extends AsyncDisposable {
  readonly credentials: SessionCredentials;
  /** Gives the session this credential, or another secret for it. */
  set(offer: CredentialOffer, secret: string): Promise<void>;
  /** Archives or deletes it. */
  remove(offer: CredentialOffer): Promise<void>;
  /** From now on the credential's refused token is exchanged for this one, once. */
  renewable(offer: McpOffer, secret: string): Promise<void>;
  /** Lets the second go by in which what was said holds. */
  settle(): Promise<void>;
  /** Uses that were recorded, as `id host purpose`. */
  recorded(): Promise<readonly string[]>;
}

const VARIABLE: VariableOffer = {
  type: "environment_variable",
  credential_id: "vcrd_1",
  vault_id: "vlt_1",
  secret_name: "API_KEY",
  placeholder: "drover-secret-00000000000000000000000000000001",
  allowed_hosts: ["api.example.com"],
  injection_location: { header: true, body: false },
};
const OAUTH: McpOffer = {
  type: "mcp_oauth",
  credential_id: "vcrd_2",
  vault_id: "vlt_1",
  mcp_server_url: "https://mcp.example.com/mcp",
};
const EGRESS = { id: "vcrd_1", host: "api.example.com", purpose: "egress" } as const;
const MCP = { id: "vcrd_2", host: "mcp.example.com", purpose: "mcp" } as const;

/** The contract of `SessionCredentials`, run by the test of every implementation. */
export function testSessionCredentials(name: string, open: () => Promise<CredentialsWorld>): void {
  describe(`SessionCredentials: ${name}`, () => {
    test("offers what there is, without its secret, and releases it with a record", async () => {
      await using world = await open();
      await world.set(VARIABLE, "canary-one");
      const { credentials } = world;
      const offers = await credentials.offers(never());
      // What it is called inside is the implementation's.
      const placeholder = expect.stringMatching(/^drover-secret-[a-z0-9]{32}$/);
      expect(offers).toEqual({ type: "offers", offers: [{ ...VARIABLE, placeholder }] });
      expect(await credentials.offers(never())).toEqual(offers);
      expect(credentials.known()).toEqual([]);
      expect(revealed(await credentials.release(EGRESS, never()))).toBe("canary-one");
      expect(await world.recorded()).toEqual(["vcrd_1 api.example.com egress"]);
      expect(credentials.known().map((secret) => secret.reveal())).toEqual(["canary-one"]);
    });

    test("what is rotated or removed is so for the next use", async () => {
      await using world = await open();
      await world.set(VARIABLE, "canary-one");
      const { credentials } = world;
      await credentials.release(EGRESS, never());
      await world.set(VARIABLE, "canary-two");
      await world.settle();
      expect(revealed(await credentials.release(EGRESS, never()))).toBe("canary-two");
      await world.remove(VARIABLE);
      await world.settle();
      expect(await credentials.offers(never())).toEqual({ type: "offers", offers: [] });
      expect(await credentials.release(EGRESS, never())).toMatchObject({ type: "refused" });
      // What was given out is masked for ever.
      const known = credentials.known().map((secret) => secret.reveal());
      expect(known).toEqual(["canary-one", "canary-two"]);
    });

    test("refuses what the session does not have", async () => {
      await using world = await open();
      const answer = await world.credentials.release({ ...EGRESS, id: "vcrd_9" }, never());
      expect(answer).toMatchObject({ type: "refused" });
      expect(await world.recorded()).not.toContain("vcrd_9 api.example.com egress");
    });

    test("renews a refused token once, and says so where there is no other", async () => {
      await using world = await open();
      await world.set(OAUTH, "token-one");
      await world.renewable(OAUTH, "token-two");
      const { credentials } = world;
      expect(revealed(await credentials.release(MCP, never()))).toBe("token-one");
      const rejected = new Secret("token-one");
      const renewals = await Promise.all([
        credentials.renew(MCP, rejected, never()),
        credentials.renew(MCP, rejected, never()),
      ]);
      expect(renewals.map(revealed)).toEqual(["token-two", "token-two"]);
      // Somebody who is late gets what there is by now.
      expect(revealed(await credentials.renew(MCP, rejected, never()))).toBe("token-two");
      const again = await credentials.renew(MCP, new Secret("token-two"), never());
      expect(again).toMatchObject({ type: "refused" });
    });
  });
}

function revealed(answer: CredentialRelease): string {
  return answer.type === "released" ? answer.secret.reveal() : `${answer.type}: ${answer.message}`;
}

function never(): AbortSignal {
  return new AbortController().signal;
}
