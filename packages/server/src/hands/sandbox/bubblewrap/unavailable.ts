import { SandboxUnavailableError } from "../../../core/ports/sandbox.ts";

interface Explanation {
  readonly pattern: RegExp;
  readonly message: string;
}

const EXPLANATIONS: readonly Explanation[] = [
  {
    pattern: /exec \S*bwrap: No such file/,
    message: "bubblewrap is not installed: run `apt-get install bubblewrap`",
  },
  {
    pattern: /could not be started.*ENOENT/,
    message: "perl is not installed: run `apt-get install perl-base`",
  },
  {
    pattern: /Unknown option/,
    message: "bubblewrap is too old: version 0.8 or newer is needed",
  },
  {
    pattern: /drover-launch: network: unshare/,
    message:
      "this machine does not let an unprivileged user make a network for a sandbox: allow user namespaces (`sysctl kernel.apparmor_restrict_unprivileged_userns=0`, `user.max_user_namespaces` above 0), or run the server as root",
  },
  {
    pattern: /drover-launch: network: (?:rules|transparent): /,
    message:
      "a sandbox cannot have a network here, because the kernel does not lead its connections into a proxy: it needs nftables with TPROXY (`modprobe nft_tproxy`); with DROVER_SANDBOX_NETWORK=none sessions are made without",
  },
  {
    pattern: /drover-launch: enter /,
    message:
      "a sandbox cannot be put into the control groups that limit it: the server's own group must be one that it may divide (`Delegate=yes`, `DelegateSubgroup=server` in its systemd unit)",
  },
  {
    pattern: /uid map: Permission denied|Failed RTM_NEWADDR/,
    message:
      "AppArmor does not let bubblewrap make user namespaces: run `sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or give /usr/bin/bwrap an AppArmor profile with `userns,`",
  },
  {
    pattern: /No permissions to create new namespace|Creating new namespace failed|unshare: /,
    message:
      "this machine does not allow new namespaces: set `sysctl kernel.unprivileged_userns_clone=1` and `user.max_user_namespaces` above 0, or start the container of the server with `--security-opt seccomp=unconfined --security-opt systempaths=unconfined`",
  },
  {
    pattern: /Can't mount proc|mount proc/,
    message:
      "this container hides parts of /proc, which forbids a sandbox its own: start it with `--security-opt systempaths=unconfined`",
  },
  {
    pattern: /Can't find source path \S+: Permission denied|Can't find source path/,
    message:
      "a folder of the sandbox cannot be reached by its user: put the data folder where every folder above it can be traversed",
  },
];

/** The error for a sandbox that ended while it was made, with what helps where that is known. */
export function explainFailure(why: string): SandboxUnavailableError {
  const explanation = EXPLANATIONS.find(({ pattern }) => pattern.test(why));
  const cause = new Error(why);
  if (explanation) return new SandboxUnavailableError(explanation.message, { cause });
  return new SandboxUnavailableError(`bubblewrap could not make a sandbox: ${why}`, { cause });
}
