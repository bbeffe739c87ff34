import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { javaKeystore, KEYSTORE_PASSWORD } from "./java-keystore.ts";
import type { SandboxAuthority } from "./sandbox-authority.ts";
import { trustedRoots } from "./trusted-roots.ts";

/** Where a sandbox is shown what its programs trust. */
export const TRUST_FOLDER = "/run/drover/trust";
/** The authorities of the machine and that of the sandbox. */
export const TRUST_BUNDLE = "ca-certificates.crt";
const OWN = "sandbox-authority.crt";
const KEYSTORE = "cacerts.jks";

const BUNDLE_PATH = `${TRUST_FOLDER}/${TRUST_BUNDLE}`;

/**
 * What makes programs trust the sandbox's authority beside all others. OpenSSL (Python's `ssl`, Ruby, Perl, wget)
 * and Go read the first; the others have names of their own. A git that is asked for a password is to fail, and
 * not to wait for somebody to type one.
 */
export const TRUST_VARIABLES: Readonly<Record<string, string>> = {
  SSL_CERT_FILE: BUNDLE_PATH,
  CURL_CA_BUNDLE: BUNDLE_PATH,
  GIT_SSL_CAINFO: BUNDLE_PATH,
  REQUESTS_CA_BUNDLE: BUNDLE_PATH,
  PIP_CERT: BUNDLE_PATH,
  AWS_CA_BUNDLE: BUNDLE_PATH,
  CARGO_HTTP_CAINFO: BUNDLE_PATH,
  NIX_SSL_CERT_FILE: BUNDLE_PATH,
  DENO_CERT: `${TRUST_FOLDER}/${OWN}`,
  NODE_EXTRA_CA_CERTS: `${TRUST_FOLDER}/${OWN}`,
  JAVA_TOOL_OPTIONS: [
    `-Djavax.net.ssl.trustStore=${TRUST_FOLDER}/${KEYSTORE}`,
    "-Djavax.net.ssl.trustStoreType=JKS",
    `-Djavax.net.ssl.trustStorePassword=${KEYSTORE_PASSWORD}`,
  ].join(" "),
  GIT_TERMINAL_PROMPT: "0",
};

/** Writes them for one sandbox, readable by everybody; they hold nothing but public certificates. */
export function writeTrustFiles(folder: string, authority: SandboxAuthority): void {
  const roots = trustedRoots();
  const ders = roots.map((pem) => Buffer.from(pem.replace(/-----[A-Z ]+-----|\s/g, ""), "base64"));
  const next = `${folder}.next`;
  rmSync(next, { recursive: true, force: true });
  mkdirSync(next, { mode: 0o755 });
  chmodSync(next, 0o755);
  const files = {
    [TRUST_BUNDLE]: [authority.pem, ...roots.map((pem) => `${pem}\n`)].join(""),
    [OWN]: authority.pem,
    [KEYSTORE]: javaKeystore([authority.certificate, ...ders]),
  };
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(next, name), content);
    chmodSync(join(next, name), 0o444);
  }
  rmSync(folder, { recursive: true, force: true });
  renameSync(next, folder);
}
