/**
 * Requests to servers of others, at addresses that users named: the one way there, so that there is one
 * place where it is decided what may be dialled.
 *
 * What every implementation promises:
 * - It never rejects, never follows a redirect, never asks twice, and ends within `timeoutMs`.
 * - It dials only addresses of the public internet and what the operator named, and exactly the address
 *   that was looked at, whatever the name resolves to a moment later.
 * - Without TLS it dials only what the operator named, unless the request says that it has no secret.
 * - No message holds a header or body of the request.
 */
export interface Egress {
  send(request: EgressRequest): Promise<EgressOutcome>;
}

export interface EgressRequest {
  readonly method: "GET" | "POST" | "DELETE";
  /** Absolute, http or https. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** For all of it: resolving, connecting, and reading the answer. */
  readonly timeoutMs: number;
  /** Of the answer; the rest is not read. */
  readonly bytesMax: number;
  /** Sees the answer's body as it comes; once it says so no more is read, as if that was all. */
  readonly isEnough?: (chunk: Uint8Array) => boolean;
  /** There is nothing secret in the request, so that it may also go to public servers without TLS. */
  readonly isPlainAllowed?: boolean;
  /** The answer may be packed (gzip, deflate, brotli); `bytesMax` is for what it unpacks to. */
  readonly isPackedAllowed?: boolean;
  /** Ends it early, as if its time was over. */
  readonly signal?: AbortSignal;
}

export type EgressOutcome =
  | {
      readonly type: "response";
      readonly status: number;
      /** In small letters; one that came twice is joined. */
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Uint8Array;
      /** True if there was more of the body, or it was cut off. */
      readonly isTruncated: boolean;
    }
  /** Nothing was dialled. The message says why in a sentence for the operator. */
  | { readonly type: "refused"; readonly message: string }
  /** No answer: name, connection, TLS, time. Whether the request arrived is not known. */
  | { readonly type: "failed"; readonly message: string };

/** Where a host is, as far as somebody may dial it. */
export type Destinations =
  /** Every one of them was judged. To be dialled as they are, and never resolved again. */
  | { readonly type: "addresses"; readonly addresses: readonly string[] }
  /** There is nothing that may be dialled; a sentence. */
  | { readonly type: "refused"; readonly message: string }
  /** It has no address that could be found. */
  | { readonly type: "failed"; readonly message: string };

/**
 * Judges hosts for connections that others make, by the same rules and exceptions as `Egress`, but for
 * TLS: what goes over such a connection is not seen.
 */
export interface DestinationGuard {
  /**
   * Looks a name up once, or takes an address in the usual notation, and judges every address found. Never
   * rejects and ends within some seconds.
   */
  destinations(host: string): Promise<Destinations>;
}
