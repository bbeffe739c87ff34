/**
 * The one form of all URLs that name the same server: scheme and host in small letters, no default port,
 * no slash at the end and no fragment.
 */
export function normalizedUrl(url: string): string {
  const { protocol, host, pathname, search } = new URL(url);
  return `${protocol}//${host}${pathname.replace(/\/$/, "")}${search}`;
}
