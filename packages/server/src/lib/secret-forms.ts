/** A text that is to be recognised; what is shorter is a part of many words. */
const SECRET_MIN = 4;
/** The same for encodings, of which base64 has more of the same in every long text. */
const ENCODED_MIN = 6;

/**
 * How a secret may be written in what comes from outside: as it is, in base64 at each of its three places and in
 * that for URLs, in hexadecimal, escaped for a URL, a form or JSON. None for one that is too short to be told
 * from other text.
 */
export function secretForms(secret: string): readonly string[] {
  if (secret.length < SECRET_MIN) return [];
  const bytes = Buffer.from(secret, "utf8");
  const hex = bytes.toString("hex");
  const base64 = base64Forms(bytes);
  const encoded = [
    ...base64,
    ...base64.map((form) => form.replaceAll("+", "-").replaceAll("/", "_")),
    ...[hex, hex.toUpperCase()],
    ...percentForms(secret),
    ...jsonForms(secret),
  ].filter((form) => form.length >= ENCODED_MIN);
  return [...new Set([secret, ...encoded])];
}

/**
 * In base64 a text looks different at each of three places; its ends depend on what stands beside it and are
 * left out.
 */
export function base64Forms(bytes: Buffer): readonly string[] {
  return [0, 1, 2].map((before) => {
    const shifted = Buffer.concat([Buffer.alloc(before), bytes]);
    const whole = shifted.toString("base64").replace(/=+$/, "");
    return whole.slice(Math.ceil((before * 8) / 6), Math.floor((shifted.length * 8) / 6));
  });
}

function percentForms(secret: string): string[] {
  const component = encodeURIComponent(secret.toWellFormed());
  const strict = component.replace(/[!'()*]/g, (character) => percent(character));
  const escaped = [component, strict, strict.replaceAll("%2F", "/")];
  const forms = escaped.flatMap((form) => [form, form.replaceAll("%20", "+")]);
  return [...forms, ...forms.map((form) => form.replace(/%[0-9A-F]{2}/g, lower))];
}

function jsonForms(secret: string): string[] {
  const plain = JSON.stringify(secret).slice(1, -1);
  const ascii = plain.replace(/[\u0080-\uffff]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
  const forms = [plain, ascii, ascii.replace(/\\u[0-9a-f]{4}/g, (text) => upperHex(text))];
  return [...forms, ...forms.map((form) => form.replaceAll("/", "\\/"))];
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

function lower(text: string): string {
  return text.toLowerCase();
}

function upperHex(text: string): string {
  return `\\u${text.slice(2).toUpperCase()}`;
}
