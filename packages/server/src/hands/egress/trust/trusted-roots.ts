import { readFileSync } from "node:fs";
import * as tls from "node:tls";

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** Where Debian and its kin keep the authorities that a machine trusts, those of its own network among them. */
const SYSTEM_BUNDLE = "/etc/ssl/certs/ca-certificates.crt";

/** The authorities that this machine trusts, as PEM; where it has no list, those that Node brings along. */
export function trustedRoots(): readonly string[] {
  const found = systemBundle().match(CERTIFICATE);
  return found ?? tls.rootCertificates;
}

/** Those that the operator has named for this process (`NODE_EXTRA_CA_CERTS`), as PEM. */
export function extraRoots(): readonly string[] {
  // Node before 22.15 cannot say.
  return "getCACertificates" in tls ? tls.getCACertificates("extra") : [];
}

function systemBundle(): string {
  try {
    return readFileSync(SYSTEM_BUNDLE, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw error;
  }
}
