import { InvalidRequestError } from "../errors.ts";

const NAME = /^[A-Za-z0-9._-]{1,100}$/;

/**
 * The name of the repository at a URL such as `https://github.com/owner/name`. Rejects what is not of
 * this form: another scheme, credentials, which the URL would show, `.git`, a query.
 */
export function repositoryName(url: string, place: string): string {
  if (!URL.canParse(url)) throw new InvalidRequestError(`${place}: must be a URL`);
  const { protocol, username, password, search, hash, pathname, hostname } = new URL(url);
  if (protocol !== "https:") throw new InvalidRequestError(`${place}: must begin with https://`);
  if (username !== "" || password !== "") {
    throw new InvalidRequestError(`${place}: must not hold credentials: use authorization_token`);
  }
  const [owner = "", name = "", ...rest] = pathname.slice(1).split("/");
  const isPlain = search === "" && hash === "" && !/[?#]$/.test(url) && rest.length === 0;
  if (!isPlain || hostname === "" || !isName(owner) || !isName(name)) {
    throw new InvalidRequestError(`${place}: must be of the form https://github.com/owner/name`);
  }
  if (name.endsWith(".git")) throw new InvalidRequestError(`${place}: must not end with .git`);
  return name;
}

/** Rejects what git would not take as the name of a branch, or would take as an option. */
export function assertBranch(name: string, place: string): void {
  const isOdd =
    /[\p{Cc} ~^:?*[\\]|\.\.|@\{|\/\/|\.lock(?:\/|$)|^[-/.]|\/\.|[/.]$/u.test(name) || name === "@";
  if (isOdd) throw new InvalidRequestError(`${place}: is no name of a branch`);
}

function isName(text: string): boolean {
  return NAME.test(text) && text !== "." && text !== "..";
}
