import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { createSecureContext, type SecureContext } from "node:tls";
import { readHost } from "../../../core/egress/host.ts";
import { type HostOffers, isForNobody, offersFor } from "../../../core/egress/host-offers.ts";
import type {
  CredentialOffer,
  SessionCredentials,
} from "../../../core/ports/session-credentials.ts";
import { type KnownSecrets, knownSecretsOf } from "../../sweep/known-secrets.ts";
import type { Destination } from "../pass.ts";
import type { SandboxAuthority } from "../trust/sandbox-authority.ts";
import { extraRoots, trustedRoots } from "../trust/trusted-roots.ts";
import type { WayOut } from "../way-out.ts";
import { BufferAllowance } from "./buffer-allowance.ts";
import { type ExchangePlace, exchange } from "./exchange.ts";
import { firstSpoken } from "./first-bytes.ts";
import { serveConnection } from "./intercepted-connection.ts";
import { SecretUnavailableError } from "./request-secrets.ts";
import { securedClient } from "./secured-client.ts";
import { Upstream } from "./upstream.ts";

export interface InterceptorOptions {
  readonly credentials: SessionCredentials;
  readonly authority: SandboxAuthority;
  /** The certificates to trust instead of those that the machine does, as PEM. */
  readonly certificates?: string | undefined;
  readonly wayOut: WayOut;
}

const BUFFERS = { oneMax: 1024 * 1024, allMax: 32 * 1024 * 1024 } as const;
const TLS_MS = 30_000;

let machineTrust: SecureContext | undefined;

/**
 * What stands between a sandbox's programs and the hosts for which its session has credentials. Connections to all
 * other hosts, and whatever is neither TLS nor HTTP, go through untouched.
 */
export class Interceptor {
  readonly #options: InterceptorOptions;
  readonly #known: KnownSecrets;
  readonly #buffers = new BufferAllowance(BUFFERS);
  readonly #trust: SecureContext;
  /** What there was when it could be asked for the last time. */
  #latest: readonly CredentialOffer[] | undefined;

  constructor(options: InterceptorOptions) {
    this.#options = options;
    this.#known = knownSecretsOf(options.credentials);
    const { certificates } = options;
    machineTrust ??= createSecureContext({ ca: [...trustedRoots(), ...extraRoots()] });
    this.#trust =
      certificates === undefined ? machineTrust : createSecureContext({ ca: certificates });
  }

  /** Serves one connection to its end. */
  async pass(client: Socket, destination: Destination): Promise<void> {
    const { wayOut, authority } = this.#options;
    const { socket } = destination;
    const host = readHost(destination.host)?.text ?? destination.host;
    const place = { host, port: destination.port };
    if (!(await this.#isWanted(place, client))) return await wayOut.relay(client, socket);
    const { idleMs } = wayOut.limits;
    for (const side of [client, socket]) side.setTimeout(idleMs, () => side.destroy());
    const spoken = await firstSpoken(client, socket);
    if (client.destroyed || socket.destroyed) {
      client.destroy();
      socket.destroy();
      return;
    }
    // A client that names somebody else, behind an address or a host of many, is not read: what it is shown would
    // be for the wrong name, and what it sends is for a server that nobody here has judged.
    const isForOther =
      spoken.type === "tls" &&
      spoken.serverName !== undefined &&
      readHost(spoken.serverName)?.text !== host;
    if (spoken.type === "other" || isForOther) return await wayOut.relay(client, socket);
    // From here on others watch, of whom not all see what goes over these.
    for (const side of [client, socket]) side.setTimeout(0);
    if (spoken.type === "http") return await this.#serve(client, { ...place, socket }, undefined);
    const secured = await securedClient(client, {
      identity: authority.identityOf(host),
      timeoutMs: TLS_MS,
    }).catch(() => undefined);
    // It does not trust what it was shown, or went away.
    if (secured === undefined) return void socket.destroy();
    const protocols = secured.alpnProtocol === "h2" ? ["h2", "http/1.1"] : ["http/1.1"];
    await this.#serve(secured, { ...place, socket }, protocols);
  }

  /** Passes on one request of a program that uses a proxy; false, and nothing done, where nobody is to. */
  async forward(
    asked: IncomingMessage,
    response: ServerResponse,
    destination: Destination,
  ): Promise<boolean> {
    const host = readHost(destination.host)?.text ?? destination.host;
    const place = { ...destination, host };
    if (!(await this.#isWanted(place, asked.socket))) return false;
    const upstream = this.#upstream(place, undefined);
    try {
      await exchange(asked, response, this.#exchangePlace(place, upstream, false));
    } finally {
      upstream.close();
    }
    return true;
  }

  async #serve(
    client: Socket,
    destination: Destination,
    protocols: readonly string[] | undefined,
  ): Promise<void> {
    const upstream = this.#upstream(destination, protocols);
    const { idleMs, streams: streamsMax } = this.#options.wayOut.limits;
    const place = this.#exchangePlace(destination, upstream, protocols !== undefined);
    await serveConnection(client, place, { idleMs, streamsMax });
  }

  #exchangePlace(
    { host, port }: Pick<Destination, "host" | "port">,
    upstream: Upstream,
    isSecure: boolean,
  ): ExchangePlace {
    return {
      credentials: this.#options.credentials,
      known: this.#known,
      buffers: this.#buffers,
      offers: (signal) => this.#offers({ host, port }, signal),
      ...{ host, isSecure, upstream },
    };
  }

  #upstream(
    { host, port, socket }: Destination,
    protocols: readonly string[] | undefined,
  ): Upstream {
    const { wayOut } = this.#options;
    return new Upstream({
      ...{ host, port, first: socket },
      connectionsMax: wayOut.limits.upstreams,
      dial: async () => {
        const opened = await wayOut.open(host, port);
        if (opened.type === "connected") return opened.socket;
        throw new Error(opened.reason);
      },
      tls: protocols && { host, context: this.#trust, protocols, timeoutMs: TLS_MS },
    });
  }

  /** Whether anything may be put into requests to the host, as far as is known. */
  async #isWanted(
    place: { readonly host: string; readonly port: number },
    client: Socket,
  ): Promise<boolean> {
    const gone = new AbortController();
    const onClose = () => gone.abort();
    client.once("close", onClose);
    try {
      return !isForNobody(await this.#offers(place, gone.signal));
    } catch (error) {
      if (!(error instanceof SecretUnavailableError)) throw error;
      // Without a secret nothing can go wrong with a host that none is for; the others are told in HTTP.
      return this.#latest === undefined || !isForNobody(offersFor(this.#latest, place));
    } finally {
      client.off("close", onClose);
    }
  }

  async #offers(
    place: { readonly host: string; readonly port: number },
    signal: AbortSignal,
  ): Promise<HostOffers> {
    const answer = await this.#options.credentials.offers(signal);
    if (answer.type === "unavailable") throw new SecretUnavailableError(answer.message);
    this.#latest = answer.offers;
    return offersFor(answer.offers, place);
  }
}
