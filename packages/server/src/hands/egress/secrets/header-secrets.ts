import { PLACEHOLDERS } from "../../../core/vaults/placeholder.ts";

/** As they came, in their order: of one name there may be several. */
export type Headers = readonly (readonly [name: string, value: string])[];

/** What says how and whom the request is for; a secret has no place there. */
const LEFT_ALONE = new Set(["host", "content-length", "transfer-encoding", "connection"]);
const BASIC = /^(basic\s+)([a-z0-9+/]+=*)\s*$/i;
/** HTTP's field values: bytes, of which each is a character here. */
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** A secret that no header can hold. The message names the header and holds nothing of it. */
export class UnfitSecretError extends Error {
  constructor(name: string) {
    super(
      `the secret of a placeholder cannot stand in the header ${name}: it has a line break or another character that no header may have`,
    );
    this.name = "UnfitSecretError";
  }
}

/** Placeholders in the values of headers, also where a user name and a password are written in base64. */
export function placeholdersIn(headers: Headers): ReadonlySet<string> {
  return new Set(headers.flatMap(([name, value]) => (isOpen(name) ? found(value) : [])));
}

/** With the secret in place of each placeholder that has one here; all else as it is. */
export function withSecrets(headers: Headers, secrets: ReadonlyMap<string, string>): Headers {
  if (secrets.size === 0) return headers;
  return headers.map(([name, value]) => {
    if (!isOpen(name)) return [name, value];
    const put = replaced(value, secrets);
    if (!FIELD_VALUE.test(put)) throw new UnfitSecretError(name.toLowerCase());
    return [name, put];
  });
}

function isOpen(name: string): boolean {
  return !LEFT_ALONE.has(name.toLowerCase());
}

function found(value: string): string[] {
  const [, , pair] = BASIC.exec(value) ?? [];
  const inside = pair === undefined ? "" : decoded(pair);
  return [...(value.match(PLACEHOLDERS) ?? []), ...(inside.match(PLACEHOLDERS) ?? [])];
}

function replaced(value: string, secrets: ReadonlyMap<string, string>): string {
  const [, scheme, pair] = BASIC.exec(value) ?? [];
  if (scheme !== undefined && pair !== undefined) {
    const inside = decoded(pair);
    const put = filled(inside, secrets);
    if (put !== inside) return `${scheme}${Buffer.from(put, "latin1").toString("base64")}`;
  }
  return filled(value, secrets);
}

function filled(text: string, secrets: ReadonlyMap<string, string>): string {
  return text.replace(PLACEHOLDERS, (placeholder) => {
    const secret = secrets.get(placeholder);
    return secret === undefined ? placeholder : Buffer.from(secret, "utf8").toString("latin1");
  });
}

function decoded(base64: string): string {
  return Buffer.from(base64, "base64").toString("latin1");
}
