import { once } from "node:events";
import { createCredentialBroker } from "../app/credential-broker.ts";
import { createGrants } from "../app/session-grants.ts";
import type { CredentialUse, SessionGrant } from "../core/ports/session-credentials.ts";
import { openEgress } from "../egress/open-egress.ts";
import { BrokeredCredentials } from "../hands/credentials/brokered-credentials.ts";
import { TokenExchanger } from "../hands/credentials/token-exchanger.ts";
import { newId } from "../lib/new-id.ts";
import { Secret } from "../lib/secret.ts";
import { systemClock } from "../lib/system-clock.ts";
import { openPostgresStore } from "../store/postgres/postgres-store.ts";
import { createEnvelopeBox } from "../vault/envelope-box.ts";
import { givenKeys } from "../vault/given-keys.ts";

/** What the test says to the process, as JSON in its one argument. */
export interface ExchangeChildOptions {
  readonly url: string;
  readonly encryptionKey: string;
  readonly grantsKey: string;
  readonly session: SessionGrant;
  readonly use: CredentialUse;
  readonly calls: number;
}

/**
 * A server and hands in one process, on the database of its argument. Says `ready`, and once its standard input says
 * something makes so many calls at once that need the token; then it prints the tokens they got, and ends.
 */
const options = JSON.parse(process.argv[2] ?? "{}") as ExchangeChildOptions;
const store = await openPostgresStore({
  url: options.url,
  clock: systemClock,
  announcements: { publish: () => undefined },
});
const secretBox = createEnvelopeBox(givenKeys([new Secret(options.encryptionKey)], "the test"));
const grants = createGrants(Buffer.from(options.grantsKey, "base64"));
const broker = createCredentialBroker({ store, grants, newId });
const ask = (question: Parameters<typeof broker.answer>[0]) => broker.answer(question);
const egress = openEgress(["127.0.0.1"]);
const exchanger = new TokenExchanger({ ask, secretBox, egress, clock: systemClock });
const source = new BrokeredCredentials({ ask, secretBox, exchanger, clock: systemClock });

process.stdout.write("ready\n");
await once(process.stdin, "data");
// As calls of different sessions would: none waits for an answer that another one has asked for.
const tokens = await Promise.all(
  Array.from({ length: options.calls }, async (_, n) => {
    const host = `${options.use.host}${".".repeat(n % 2)}`;
    const signal = new AbortController().signal;
    const answer = await source.of(options.session).release({ ...options.use, host }, signal);
    return answer.type === "released"
      ? answer.secret.reveal()
      : `${answer.type}: ${answer.message}`;
  }),
);
process.stdout.write(`${JSON.stringify(tokens)}\n`);
await store.close();
process.stdin.destroy();
