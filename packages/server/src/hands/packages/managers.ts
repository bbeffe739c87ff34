import type { PackageManager } from "@drover/api";
import { PACKAGES_FOLDER, WORKSHOP_AUTHORITIES } from "../sandbox/local/sandbox-layout.ts";

/** Where packages come from, where that is not the public registry of their manager. URLs. */
export type PackageRegistries = { readonly [M in PackageManager]?: string };

/** How one manager is used. What it installs is a folder of its own, but for apt's, which is all over. */
export interface ManagerUse {
  /** Looked for before anything is tried. */
  readonly program: string;
  /** Names that are installed by one command; whether a package failed is then known of all or of one. */
  readonly together: boolean;
  /** A shell command; the names are quoted. */
  readonly command: (names: string, registry: string | undefined) => string;
  /** Of the sandbox that installs. */
  readonly variables: (registry: string | undefined) => Readonly<Record<string, string>>;
  /** Of the sandboxes that have it. */
  readonly shown: Readonly<Record<string, string>>;
}

const at = (manager: PackageManager) => `${PACKAGES_FOLDER}/${manager}`;
const none = () => ({});
/** On disk, and thrown away with the sandbox that installs. */
const SCRATCH = "/workspace";
const APT = [
  // It would become another user, and find out that it did not.
  ...["-oAPT::Sandbox::User=root", "-oDpkg::Use-Pty=0", "-oAcquire::Retries=3"],
  // What is half-written when the power fails is never believed: the layer is not published yet.
  ...["-oDpkg::Options::=--force-unsafe-io", "-oDpkg::Options::=--force-confdef"],
  ...["-oDpkg::Options::=--force-confold", `-oAcquire::https::CAInfo=${WORKSHOP_AUTHORITIES}`],
].join(" ");

export const MANAGERS: Readonly<Record<PackageManager, ManagerUse>> = {
  apt: {
    program: "apt-get",
    together: true,
    command: (names) =>
      [
        `apt-get -q ${APT} update`,
        `apt-get -qy ${APT} install --no-install-recommends -- ${names}`,
        "apt-get clean",
        "rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin",
      ].join(" && "),
    variables: () => ({ DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C.UTF-8", HOME: "/root" }),
    shown: {},
  },
  cargo: {
    program: "cargo",
    together: false,
    command: (names, registry) =>
      [
        `cargo install --root ${at("cargo")}`,
        ...(registry === undefined
          ? []
          : [
              `--config 'source.crates-io.replace-with="registry"'`,
              `--config 'source.registry.registry="${registry}"'`,
            ]),
        `-- ${names}`,
      ].join(" "),
    variables: () => ({
      CARGO_HOME: `${SCRATCH}/cargo`,
      CARGO_TARGET_DIR: `${SCRATCH}/cargo-target`,
      CARGO_HTTP_CAINFO: WORKSHOP_AUTHORITIES,
    }),
    shown: {},
  },
  gem: {
    program: "gem",
    together: false,
    command: (names, registry) =>
      [
        `gem install --norc --no-document --install-dir ${at("gem")} --bindir ${at("gem")}/bin`,
        ...(registry === undefined ? [] : [`--clear-sources --source ${registry}`]),
        // What comes after `--` would be options for building.
        names,
      ].join(" "),
    variables: () => ({ GEM_SPEC_CACHE: `${SCRATCH}/gem-specs` }),
    shown: { GEM_PATH: at("gem") },
  },
  go: {
    program: "go",
    together: false,
    command: (names) =>
      `n=${names}; case "$n" in *@*) ;; *) n="$n@latest" ;; esac; go install "$n"`,
    variables: (registry) => ({
      GOPATH: `${SCRATCH}/go`,
      GOBIN: `${at("go")}/bin`,
      GOCACHE: `${SCRATCH}/go-cache`,
      GOTOOLCHAIN: "local",
      GOFLAGS: "-modcacherw",
      // Packages of one's own are in no public list of checksums.
      ...(registry !== undefined && { GOPROXY: registry, GOSUMDB: "off" }),
    }),
    shown: {},
  },
  npm: {
    program: "npm",
    together: true,
    command: (names, registry) =>
      [
        `npm install --global --prefix ${at("npm")} --no-fund --no-audit --loglevel=error`,
        ...(registry === undefined ? [] : [`--registry ${registry}`]),
        `-- ${names}`,
      ].join(" "),
    variables: () => ({
      npm_config_cache: `${SCRATCH}/npm-cache`,
      npm_config_cafile: WORKSHOP_AUTHORITIES,
      npm_config_update_notifier: "false",
    }),
    shown: { NODE_PATH: `${at("npm")}/lib/node_modules` },
  },
  pip: {
    program: "python3",
    together: true,
    command: (names, registry) =>
      [
        "python3 -m pip install --isolated --no-input --disable-pip-version-check --no-cache-dir",
        `--progress-bar off --target ${at("pip")}`,
        ...(registry === undefined ? [] : [`--index-url ${registry}`, ...trusted(registry)]),
        `-- ${names}`,
      ].join(" "),
    variables: none,
    shown: { PYTHONPATH: at("pip") },
  },
};

/** pip uses no server without TLS that it was not told to trust. */
function trusted(registry: string): string[] {
  const { protocol, host } = new URL(registry);
  return protocol === "http:" ? [`--trusted-host ${host}`] : [];
}

/** Where programs that speak TLS find whom to trust, each under the name it looks at. */
export const AUTHORITY_VARIABLES: Readonly<Record<string, string>> = Object.fromEntries(
  ["SSL_CERT_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"]
    .concat("PIP_CERT")
    .map((name) => [name, WORKSHOP_AUTHORITIES]),
);
