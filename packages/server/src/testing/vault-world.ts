import { randomBytes } from "node:crypto";
import type { CredentialAuth } from "@drover/api";
import { createCredentialBroker, grantOf } from "../app/credential-broker.ts";
import { sealedSecrets } from "../app/credential-secrets.ts";
import { createGrants } from "../app/session-grants.ts";
import { StoreUnavailableError } from "../core/errors.ts";
import type { CredentialBroker } from "../core/ports/credential-broker.ts";
import type { Egress } from "../core/ports/egress.ts";
import type { SessionCredentials } from "../core/ports/session-credentials.ts";
import type { NewSession } from "../core/ports/sessions.ts";
import { newSession } from "../core/ports/store.testsuite.ts";
import { newCredential } from "../core/ports/vaults.testsuite.ts";
import type { CredentialRecord, VaultRecord } from "../core/ports/vaults.ts";
import { keyOfAuth } from "../core/vaults/credential.ts";
import type { CredentialSecrets } from "../core/vaults/credential-parts.ts";
import { secretBinding } from "../core/vaults/secret-binding.ts";
import {
  BrokeredCredentials,
  type ExternalManagers,
} from "../hands/credentials/brokered-credentials.ts";
import { QuestionBox } from "../hands/credentials/question-box.ts";
import { TokenExchanger } from "../hands/credentials/token-exchanger.ts";
import { newId } from "../lib/new-id.ts";
import { Secret } from "../lib/secret.ts";
import { systemClock } from "../lib/system-clock.ts";
import { openMemoryStore } from "../store/sqlite/memory-store.testsuite.ts";
import { createEnvelopeBox } from "../vault/envelope-box.ts";
import { givenKeys } from "../vault/given-keys.ts";

/** An OAuth credential of a public client. */
export const OAUTH: Extract<CredentialAuth, { type: "mcp_oauth" }> = {
  type: "mcp_oauth",
  mcp_server_url: "https://mcp.example.com/mcp",
  refresh: {
    client_id: "client",
    token_endpoint: "https://auth.example.com/token",
    token_endpoint_auth: { type: "none" },
    resource: null,
    scope: null,
  },
};

const MINUTE_MS = 60_000;

/** The system's clock, which a test may put forward. */
class MovedClock {
  // At the beginning of a minute, for what is told by the minute is not to fall into two of them.
  #aheadMs = MINUTE_MS - (systemClock.now() % MINUTE_MS);
  #moved = new AbortController();

  now(): number {
    return systemClock.now() + this.#aheadMs;
  }

  async sleepUntil(atMs: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.now() < atMs) {
      const stop = AbortSignal.any([signal, this.#moved.signal]);
      await systemClock.sleepUntil(atMs - this.#aheadMs, stop);
    }
  }

  advance(ms: number): void {
    this.#aheadMs += ms;
    this.#moved.abort();
    this.#moved = new AbortController();
  }
}

/** A session with a vault in a store, and as many hands as a test wants, all in this process. */
export async function openVaultWorld(egress: Egress = NOBODY, external: ExternalManagers = {}) {
  const clock = new MovedClock();
  const store = openMemoryStore({ clock, announcements: { publish: () => undefined } });
  const key = new Secret(randomBytes(32).toString("base64"));
  const secretBox = createEnvelopeBox(givenKeys([key], "the test"));
  const grants = createGrants(randomBytes(32));
  const broker = createCredentialBroker({ store, grants, newId });
  const session = newSession({ vault_ids: ["vlt_1"], created_by: "apikey_1" });
  const { workspace_id } = session;
  await store.write(async (tx) => {
    await tx.vaults.insert(vaultOf(session));
    await tx.sessions.insert(session);
  });
  const stop = new AbortController();
  const place = { workspaceId: workspace_id, sessionId: session.id };
  const grant = async () => {
    const found = await store.sessions.find(place);
    if (found === undefined) throw new Error("there is no session");
    return grantOf(found, grants) ?? "";
  };

  /** Credentials as one hands process has them. */
  const openHands = async (): Promise<SessionCredentials & { exchanger: TokenExchanger }> => {
    const questions = new QuestionBox(clock);
    void serve(questions, broker, stop.signal);
    const exchanger = new TokenExchanger({ ask: questions.ask, secretBox, egress, clock });
    const source = new BrokeredCredentials({
      ask: questions.ask,
      secretBox,
      exchanger,
      external,
      clock,
    });
    return Object.assign(source.of({ ...place, grant: await grant() }), { exchanger });
  };

  const put = async (
    auth: CredentialAuth,
    secrets: CredentialSecrets,
    changes: Partial<CredentialRecord> = {},
  ): Promise<CredentialRecord> => {
    const record = newCredential({
      ...{ workspace_id, vault_id: "vlt_1", auth, auth_key: keyOfAuth(auth) },
      ...changes,
    });
    const sealed = sealedSecrets(secretBox, record, secrets);
    await store.write(async (tx) => {
      const isThere = await tx.credentials.find(workspace_id, record.vault_id, record.id);
      if (isThere === undefined) await tx.credentials.insert(record, sealed);
      else await tx.credentials.update(record, sealed);
    });
    return record;
  };

  const stored = async (id: string) =>
    await store.write(async (tx) => {
      const secrets = await tx.credentials.findSecrets(workspace_id, id);
      const opened = Object.entries(secrets).map(([name, { sealed }]) => [
        name,
        secretBox.open(sealed, secretBinding({ workspace_id, id }, name)).reveal(),
      ]);
      const record = await tx.credentials.find(workspace_id, "vlt_1", id);
      const refresh = await tx.credentials.findRefresh(workspace_id, id);
      return { auth: record?.auth, secrets: Object.fromEntries(opened), refresh };
    });

  const uses = async () =>
    await store.credentialUses.list(workspace_id, {}, { limit: 1_000, order: "asc" });

  return {
    ...{ clock, store, secretBox, broker, grants, session, place, grant, openHands, put, stored },
    uses,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await store.close();
    },
  };
}

function vaultOf({ workspace_id, created_at }: NewSession): VaultRecord {
  return {
    ...{ workspace_id, id: "vlt_1", display_name: "v", metadata: {} },
    ...{ created_at, updated_at: created_at, archived_at: null },
  };
}

export type VaultWorld = Awaited<ReturnType<typeof openVaultWorld>>;

/** What a server does for a box of questions. */
async function serve(
  questions: QuestionBox,
  broker: CredentialBroker,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    for (const { id, question } of await questions.take(25_000, signal)) {
      broker.answer(question).then(
        (answer) => questions.answer(id, answer),
        (error: unknown) => {
          if (!(error instanceof StoreUnavailableError)) throw error;
        },
      );
    }
  }
}

const NOBODY: Egress = {
  send: async () => ({ type: "refused", message: "nobody is there" }),
};
