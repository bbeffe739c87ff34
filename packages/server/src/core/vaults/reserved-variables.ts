/**
 * What a sandbox itself sets, and what would run other programs than those that were meant. In the environment of a
 * program each of these is an instruction, and no place for a secret.
 */
const RESERVED = new Set([
  ...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "PWD", "IFS", "ENV", "BASH_ENV"],
  ...["SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "REQUESTS_CA_BUNDLE"],
  ...["PIP_CERT", "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "NIX_SSL_CERT_FILE", "DENO_CERT"],
  ...["NODE_EXTRA_CA_CERTS", "NODE_OPTIONS", "JAVA_TOOL_OPTIONS", "GIT_TERMINAL_PROMPT"],
  ...["PERL5LIB", "PERL5OPT", "PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP"],
]);

/** Whether no credential may be an environment variable of this name. */
export function isReservedVariable(name: string): boolean {
  return RESERVED.has(name.toUpperCase()) || /^LD_/i.test(name);
}
