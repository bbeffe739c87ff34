import type { Egress, EgressOutcome } from "../../core/ports/egress.ts";
import type { WebFetchSettings } from "../../core/tools/web-settings.ts";
import { canonicalUrl, URL_CHARS_MAX } from "../../core/tools/web-urls.ts";
import { VERSION } from "../../lib/version.ts";
import { permits } from "./domain-list.ts";
import { WebError } from "./web-error.ts";

/** Redirects that are followed. */
const REDIRECTS_MAX = 5;
/** Bytes of an answer's body, unpacked. */
export const BODY_BYTES_MAX = 5 * 1024 * 1024;

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const HEADERS = {
  accept: "text/markdown,text/html;q=0.9,application/xhtml+xml;q=0.9,text/plain;q=0.8,*/*;q=0.5",
  "accept-language": "en,*;q=0.5",
  "user-agent": `Mozilla/5.0 (compatible; Drover/${VERSION}; web_fetch)`,
};

export interface Retrieved {
  /** Of the last answer, after all redirects. */
  readonly url: URL;
  /** As the server says; empty if it says nothing. */
  readonly contentType: string;
  readonly body: Uint8Array;
}

export interface RetrieveOptions {
  readonly egress: Egress;
  readonly settings: WebFetchSettings;
  /** Milliseconds that are left for it, at least 1. */
  readonly leftMs: () => number;
  readonly signal: AbortSignal;
}

/**
 * Gets what is at a URL, without cookies or credentials. Redirects are followed here and not by the
 * connection, so that each address on the way is judged like the first. Throws `WebError`.
 */
export async function retrieve(address: string, options: RetrieveOptions): Promise<Retrieved> {
  const { egress, settings, leftMs, signal } = options;
  let url = targetOf(address);
  for (let hop = 0; hop <= REDIRECTS_MAX; hop += 1) {
    if (!permits(settings, url)) throw notPermitted(url, hop);
    const outcome = await egress.send({
      method: "GET",
      url: url.href,
      headers: HEADERS,
      timeoutMs: leftMs(),
      bytesMax: BODY_BYTES_MAX,
      isPlainAllowed: true,
      isPackedAllowed: true,
      signal,
    });
    const answer = answered(outcome, url);
    const location = REDIRECTS.has(answer.status) ? answer.headers["location"] : undefined;
    if (location === undefined) return received(answer, url);
    url = targetOf(location, url);
  }
  throw new WebError("url_not_accessible", `there were more than ${REDIRECTS_MAX} redirects`);
}

/** `base` is the address that redirected there. */
function targetOf(address: string, base?: URL): URL {
  const isRedirect = base !== undefined;
  if (address.length > URL_CHARS_MAX) {
    const what = isRedirect ? "the address that the server redirects to" : "the URL";
    throw new WebError("url_too_long", `${what} has more than ${URL_CHARS_MAX} characters`);
  }
  const absolute = URL.canParse(address, base?.href) ? new URL(address, base?.href).href : address;
  const canonical = canonicalUrl(absolute);
  if (canonical !== undefined) return new URL(canonical);
  throw isRedirect
    ? new WebError("url_not_allowed", "the server redirects to something that may not be fetched")
    : new WebError(
        "invalid_input",
        "url: must be an absolute http or https URL, without a user or a password",
      );
}

type Answer = Extract<EgressOutcome, { type: "response" }>;

function answered(outcome: EgressOutcome, { host }: URL): Answer {
  switch (outcome.type) {
    case "response":
      return outcome;
    // The sentence for the operator names addresses of their network, which are not the model's business.
    case "refused":
      throw new WebError(
        "url_not_allowed",
        `${host} is at no address of the public internet, or at one that the operator of this server does not permit`,
      );
    case "failed":
      throw new WebError("url_not_accessible", `${host} gave no answer: ${outcome.message}`);
  }
}

function received({ status, headers, body, isTruncated }: Answer, url: URL): Retrieved {
  if (status === 429) throw new WebError("too_many_requests", `${url.host} asks for patience`);
  if (status < 200 || status >= 300) {
    throw new WebError("url_not_accessible", `${url.host} answered with status ${status}`);
  }
  if (isTruncated && body.byteLength >= BODY_BYTES_MAX) {
    const message = `what is there is larger than ${BODY_BYTES_MAX / 1024 / 1024} MB`;
    throw new WebError("content_too_large", message);
  }
  if (isTruncated) {
    throw new WebError(
      "url_not_accessible",
      `the answer of ${url.host} broke off or took too long`,
    );
  }
  return { url, contentType: headers["content-type"] ?? "", body };
}

function notPermitted(url: URL, hop: number): WebError {
  const which = hop === 0 ? url.host : `${url.host}, to which the server redirects,`;
  return new WebError("url_not_allowed", `${which} is not among the domains that may be fetched`);
}
