import { readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** Where Debian and its kin keep the authorities that a machine trusts, those of its own network among them. */
const SYSTEM_BUNDLE = "/etc/ssl/certs/ca-certificates.crt";

/** The authorities that this machine trusts, as PEM; where it has no list, those that Node brings along. */
export function trustedRoots(): readonly string[] {
  const found = systemBundle().match(CERTIFICATE);
  return found ?? rootCertificates;
}

function systemBundle(): string {
  try {
    return readFileSync(SYSTEM_BUNDLE, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw error;
  }
}
