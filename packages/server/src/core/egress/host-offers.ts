import type {
  CredentialBinding,
  CredentialOffer,
  RepositoryOffer,
  VariableOffer,
} from "../ports/session-credentials.ts";
import { type Host, readHost } from "./host.ts";
import { matchesHost } from "./policy.ts";

/** What may be put into requests to one host. */
export interface HostOffers {
  readonly variables: readonly VariableOffer[];
  readonly repositories: readonly RepositoryOffer[];
}

/** Where a request goes, of which an offer may be for a part. */
export interface RequestTarget {
  /** In capitals. */
  readonly method: string;
  /** As it is sent: path and query. */
  readonly path: string;
}

const HTTPS_PORT = 443;
/** Another method that some servers do instead of the one in the first line. */
const METHOD_HEADERS = new Set(["x-http-method", "x-http-method-override", "x-method-override"]);
/** What servers may read as another path than it seems to be. */
const AMBIGUOUS = /\/\/|\\|%2e|%2f|%5c|%00|;|(?:^|\/)\.{1,2}(?:\/|$)/i;
const GIT_PATH = /^(?:info\/refs|git-upload-pack|git-receive-pack|info\/lfs\/.+)$/;

/** Pure: which of a session's offers are for a host and port. */
export function offersFor(
  offers: readonly CredentialOffer[],
  { host, port }: { readonly host: string; readonly port: number },
): HostOffers {
  const read = readHost(host);
  if (read === undefined) return { variables: [], repositories: [] };
  return {
    variables: offers.filter(
      (offer): offer is VariableOffer =>
        offer.type === "environment_variable" && isAllowed(offer, read),
    ),
    repositories: offers.filter(
      (offer): offer is RepositoryOffer =>
        offer.type === "repository" && isAt(offer.url, read, port),
    ),
  };
}

export function isForNobody({ variables, repositories }: HostOffers): boolean {
  return variables.length === 0 && repositories.length === 0;
}

/** Whether a request is one that the credential may be put into. One that could be read as another is not. */
export function permits(
  binding: CredentialBinding | undefined,
  { method, path }: RequestTarget,
  headers: readonly (readonly [name: string, value: string])[] = [],
): boolean {
  const { methods, paths } = binding ?? {};
  if (methods !== undefined) {
    const meant = headers.flatMap(([name, value]) =>
      METHOD_HEADERS.has(name.toLowerCase()) ? [value.trim().toUpperCase()] : [],
    );
    if (![method, ...meant].every((one) => methods.includes(one))) return false;
  }
  if (paths === undefined) return true;
  const plain = pathOf(path);
  return plain !== undefined && paths.some((pattern) => isBelow(pattern, plain));
}

/** The repository of which a request asks by git's protocol, or by that of large files. */
export function repositoryOf(
  repositories: readonly RepositoryOffer[],
  path: string,
): RepositoryOffer | undefined {
  const plain = pathOf(path);
  if (plain === undefined) return undefined;
  return repositories.find(({ url }) => {
    const base = new URL(url).pathname.replace(/\/$/, "").replace(/\.git$/, "");
    const rest = [`${base}.git/`, `${base}/`].find((prefix) => plain.startsWith(prefix));
    return rest !== undefined && GIT_PATH.test(plain.slice(rest.length));
  });
}

function isAllowed({ allowed_hosts }: VariableOffer, host: Host): boolean {
  return allowed_hosts === null || allowed_hosts.some((pattern) => matchesHost(pattern, host));
}

function isAt(text: string, host: Host, port: number): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  const wanted = url.port === "" ? HTTPS_PORT : Number(url.port);
  return url.protocol === "https:" && readHost(url.hostname)?.text === host.text && wanted === port;
}

/** Without its query; undefined for one that is not the same to everybody. */
function pathOf(target: string): string | undefined {
  const [path = ""] = target.split(/[?#]/, 1);
  return path.startsWith("/") && !AMBIGUOUS.test(path) ? path : undefined;
}

function isBelow(pattern: string, path: string): boolean {
  if (!pattern.endsWith("/*")) return path === pattern;
  const folder = pattern.slice(0, -1);
  return path.startsWith(folder) && path.length > folder.length;
}
