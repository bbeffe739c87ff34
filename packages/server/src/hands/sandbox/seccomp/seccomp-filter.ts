import { assembleBpf, type BpfStep } from "./bpf.ts";
import type { SyscallTable } from "./syscall-tables.ts";

/** Offsets into `struct seccomp_data`; of the 64-bit arguments the low words, all that is looked at. */
const NUMBER = 0;
const ARCH = 4;
const ARGUMENT = [16, 24, 32] as const;

const ALLOW = 0x7fff0000;
const ERRNO = 0x00050000;
const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

/** Numbers from here on are x86-64's second table (x32), which would go round the list. */
const X32_BIT = 0x40000000;
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const NEW_NAMESPACES = 0x7e020000;
const CLONE_NEWTIME = 0x80;
/** AF_UNIX, AF_INET, AF_INET6. AF_VSOCK above all is refused: no network namespace covers it. */
const FAMILIES = [1, 2, 10] as const;
const AF_NETLINK = 16;
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;

interface FilterOptions {
  /**
   * Changes of ownership are not made and answered as if they were. A sandbox has one user, so that they
   * could only fail, and installers that believe to be root give up where they do.
   */
  readonly pretendsOwnership?: boolean;
}

/**
 * The seccomp filter of every sandbox, as bytes for `bwrap --seccomp`. What is not named is allowed; the
 * list is a second wall behind namespaces and an empty capability set.
 */
export function seccompFilter(
  table: SyscallTable,
  { pretendsOwnership = false }: FilterOptions = {},
): Uint8Array {
  const pretended = pretendsOwnership ? Object.values(table.ownership) : [];
  return assembleBpf([
    { do: "load", offset: ARCH },
    { do: "jump", when: "equal", value: table.auditArch, to: "native" },
    { do: "goto", to: "absent" },
    { do: "label", name: "native" },
    { do: "load", offset: NUMBER },
    { do: "jump", when: "at_least", value: X32_BIT, to: "absent" },
    // Its flags are behind a pointer; C libraries fall back to clone.
    { do: "jump", when: "equal", value: table.clone3, to: "absent" },
    ...Object.values(table.refused).map(
      (value): BpfStep => ({ do: "jump", when: "equal", value, to: "refused" }),
    ),
    ...pretended.map((value): BpfStep => ({ do: "jump", when: "equal", value, to: "pretended" })),
    { do: "jump", when: "equal", value: table.clone, to: "clone" },
    { do: "jump", when: "equal", value: table.unshare, to: "unshare" },
    { do: "jump", when: "equal", value: table.socket, to: "socket" },
    { do: "jump", when: "equal", value: table.socketpair, to: "socketpair" },
    { do: "jump", when: "equal", value: table.ioctl, to: "ioctl" },
    { do: "return", value: ALLOW },
    ...argumentChecks(),
    { do: "label", name: "allowed" },
    { do: "return", value: ALLOW },
    { do: "label", name: "pretended" },
    { do: "return", value: ERRNO },
    { do: "label", name: "refused" },
    { do: "return", value: ERRNO | EPERM },
    { do: "label", name: "unsupported" },
    { do: "return", value: ERRNO | EAFNOSUPPORT },
    { do: "label", name: "absent" },
    { do: "return", value: ERRNO | ENOSYS },
  ]);
}

function argumentChecks(): readonly BpfStep[] {
  return [
    { do: "label", name: "clone" },
    { do: "load", offset: ARGUMENT[0] },
    { do: "mask", bits: NEW_NAMESPACES },
    { do: "jump", when: "equal", value: 0, to: "allowed" },
    { do: "goto", to: "refused" },

    { do: "label", name: "unshare" },
    { do: "load", offset: ARGUMENT[0] },
    { do: "mask", bits: NEW_NAMESPACES | CLONE_NEWTIME },
    { do: "jump", when: "equal", value: 0, to: "allowed" },
    { do: "goto", to: "refused" },

    { do: "label", name: "socket" },
    { do: "load", offset: ARGUMENT[0] },
    ...FAMILIES.map((value): BpfStep => ({ do: "jump", when: "equal", value, to: "allowed" })),
    { do: "jump", when: "equal", value: AF_NETLINK, to: "netlink" },
    { do: "goto", to: "unsupported" },

    // Only NETLINK_ROUTE (0), which getaddrinfo and `ip` ask for addresses.
    { do: "label", name: "netlink" },
    { do: "load", offset: ARGUMENT[2] },
    { do: "jump", when: "equal", value: 0, to: "allowed" },
    { do: "goto", to: "unsupported" },

    { do: "label", name: "socketpair" },
    { do: "load", offset: ARGUMENT[0] },
    { do: "jump", when: "equal", value: FAMILIES[0], to: "allowed" },
    { do: "goto", to: "unsupported" },

    { do: "label", name: "ioctl" },
    { do: "load", offset: ARGUMENT[1] },
    { do: "jump", when: "equal", value: TIOCSTI, to: "refused" },
    { do: "jump", when: "equal", value: TIOCLINUX, to: "refused" },
    { do: "goto", to: "allowed" },
  ];
}
