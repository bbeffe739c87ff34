import { createHash, generateKeyPairSync, type KeyObject } from "node:crypto";
import { authorityExtensions, makeCertificate, pemOf, serverExtensions } from "./certificate.ts";

const DAY_MS = 24 * 3_600_000;
const AUTHORITY_MS = 3_650 * DAY_MS;
const SERVER_MS = 30 * DAY_MS;
/** One in use is made anew long before it ends. */
const RENEW_MS = 7 * DAY_MS;
const SERVERS_MAX = 256;
const NAME = "Drover sandbox authority";
/** X.509 allows no longer common name; what counts is the alternative name. */
const COMMON_NAME_MAX = 64;

interface Keys {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** As PEM. */
export interface ServerIdentity {
  readonly cert: string;
  readonly key: string;
}

interface Server {
  readonly identity: ServerIdentity;
  readonly madeMs: number;
}

/**
 * The certificate authority of one sandbox, and of no other: what it signs is worth something to programs of that
 * sandbox alone. Its key is in this process's memory and nowhere else.
 */
export class SandboxAuthority {
  /** DER. */
  readonly certificate: Buffer;
  readonly #keys: Keys = makeKeys();
  readonly #keyId: Buffer;
  /** One key serves all hosts: whoever had it could read what this process reads anyway. */
  readonly #serverKeys: Keys = makeKeys();
  readonly #servers = new Map<string, Server>();

  constructor() {
    const subjectPublicKey = spkiOf(this.#keys);
    this.#keyId = createHash("sha1").update(subjectPublicKey).digest();
    this.certificate = makeCertificate({
      subject: NAME,
      issuer: NAME,
      subjectPublicKey,
      issuerKey: this.#keys.privateKey,
      lastsMs: AUTHORITY_MS,
      extensions: authorityExtensions(this.#keyId),
    });
  }

  get pem(): string {
    return pemOf(this.certificate);
  }

  /** For a server at this name or address. */
  identityOf(host: string): ServerIdentity {
    const now = Date.now();
    const known = this.#servers.get(host);
    this.#servers.delete(host);
    const server =
      known !== undefined && now - known.madeMs < RENEW_MS
        ? known
        : { identity: this.#makeIdentity(host), madeMs: now };
    this.#servers.set(host, server);
    const [oldest] = this.#servers.keys();
    if (this.#servers.size > SERVERS_MAX && oldest !== undefined) this.#servers.delete(oldest);
    return server.identity;
  }

  #makeIdentity(host: string): ServerIdentity {
    const certificate = makeCertificate({
      subject: host.slice(0, COMMON_NAME_MAX),
      issuer: NAME,
      subjectPublicKey: spkiOf(this.#serverKeys),
      issuerKey: this.#keys.privateKey,
      lastsMs: SERVER_MS,
      extensions: serverExtensions(host, this.#keyId),
    });
    const key = this.#serverKeys.privateKey.export({ type: "pkcs8", format: "pem" });
    return { cert: pemOf(certificate), key: key.toString() };
  }
}

function makeKeys(): Keys {
  return generateKeyPairSync("ec", { namedCurve: "P-256" });
}

function spkiOf({ publicKey }: Keys): Buffer {
  return publicKey.export({ type: "spki", format: "der" });
}
