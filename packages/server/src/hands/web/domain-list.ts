/** The lists of an agent's settings; at most one of them is there. */
interface DomainLists {
  readonly allowed_domains?: readonly string[];
  readonly blocked_domains?: readonly string[];
}

/**
 * True if the lists permit the URL. A domain stands for itself and its subdomains, in capital or small
 * letters; with a path, for what lies below that path.
 */
export function permits({ allowed_domains, blocked_domains }: DomainLists, url: URL): boolean {
  if (allowed_domains !== undefined && !allowed_domains.some((domain) => covers(domain, url))) {
    return false;
  }
  return blocked_domains?.some((domain) => covers(domain, url)) !== true;
}

function covers(domain: string, url: URL): boolean {
  const [name = "", ...segments] = domain.split("/");
  const host = url.hostname.replace(/\.+$/, "");
  const wanted = name.toLowerCase();
  if (host !== wanted && !host.endsWith(`.${wanted}`)) return false;
  const path = segments.join("/").replace(/\/+$/, "");
  return path === "" || `${url.pathname}/`.startsWith(`/${path}/`);
}
