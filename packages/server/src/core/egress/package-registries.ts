/**
 * What `allow_package_managers` allows: the public registries that apt, cargo, gem, go, npm and pip of a
 * plain installation ask, and where those send a client for the files.
 */
export const PACKAGE_REGISTRIES: readonly string[] = [
  // apt
  "deb.debian.org",
  "security.debian.org",
  "archive.ubuntu.com",
  "security.ubuntu.com",
  "ports.ubuntu.com",
  // cargo
  "crates.io",
  "index.crates.io",
  "static.crates.io",
  // gem
  "rubygems.org",
  "index.rubygems.org",
  // go
  "proxy.golang.org",
  "sum.golang.org",
  // npm and yarn
  "registry.npmjs.org",
  "registry.yarnpkg.com",
  // pip
  "pypi.org",
  "files.pythonhosted.org",
];
