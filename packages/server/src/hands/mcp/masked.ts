import type { SecretMask } from "../../lib/secret-mask.ts";

/** The same JSON with secrets in its texts and names masked; the value itself where there is nothing to mask. */
export function masked<T>(value: T, mask: SecretMask): T {
  return mask.isEmpty ? value : (maskedValue(value, mask) as T);
}

function maskedValue(value: unknown, mask: SecretMask): unknown {
  if (typeof value === "string") return mask.text(value);
  if (Array.isArray(value)) return value.map((one) => maskedValue(one, mask));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [mask.text(name), maskedValue(one, mask)]),
  );
}
