/** Characters of a URL that is fetched or looked for. */
export const URL_CHARS_MAX = 2_048;

/** A URL that stands for itself in a text, up to a blank or what usually encloses one. */
const IN_TEXT = /https?:\/\/[^\s<>"'`\\^{}|]{1,2100}/gi;
/** What is more often the sentence's, or the markup's, than the URL's. */
const AFTER = /[.,;:!?)\]*_~]$/;
const AFTER_MAX = 8;

/**
 * The URL in the one form that is fetched and compared; undefined if it is none that may be fetched:
 * absolute, http or https, without a user or password, of at most `URL_CHARS_MAX` characters. Host
 * names are in small letters and in ASCII, default ports and the fragment are left out, `.` and `..`
 * in paths are resolved, an empty path is `/`; everything else differs as it is written.
 */
export function canonicalUrl(text: string): string | undefined {
  if (text.length > URL_CHARS_MAX || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") return undefined;
  if (url.username !== "" || url.password !== "" || url.hostname === "") return undefined;
  url.hash = "";
  if (url.hostname.endsWith(".")) url.hostname = url.hostname.replace(/\.+$/, "");
  return url.href.replace(/#$/, "");
}

/** A function that tells whether a text holds the URL, which is given in its canonical form. */
export function urlFinder(canonical: string): (text: string) => boolean {
  const { hostname } = new URL(canonical);
  // Most texts do not name the host at all. One with other letters than ASCII has other spellings.
  const isPlain = !hostname.includes("xn--") && !/^[\d.]+$|^\[/.test(hostname);
  return (text) => {
    if (isPlain && !text.toLowerCase().includes(hostname)) return false;
    for (const [found] of text.matchAll(IN_TEXT)) {
      if (readings(found).some((reading) => canonicalUrl(reading) === canonical)) return true;
    }
    return false;
  };
}

/** With and without the punctuation at its end. */
function readings(found: string): readonly string[] {
  const all = [found];
  let rest = found;
  for (let cut = 0; cut < AFTER_MAX && AFTER.test(rest); cut += 1) {
    rest = rest.slice(0, -1);
    all.push(rest);
  }
  return all;
}
