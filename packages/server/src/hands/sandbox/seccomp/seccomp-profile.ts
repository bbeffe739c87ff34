import type { SyscallTable } from "./syscall-tables.ts";

interface ProfileArgument {
  readonly index: number;
  readonly value: number;
  readonly valueTwo?: number;
  readonly op: "SCMP_CMP_EQ" | "SCMP_CMP_NE" | "SCMP_CMP_LT" | "SCMP_CMP_GT" | "SCMP_CMP_MASKED_EQ";
}

interface ProfileRule {
  readonly names: readonly string[];
  /** Where nobody traces, `TRACE` answers ENOSYS. */
  readonly action: "SCMP_ACT_ERRNO" | "SCMP_ACT_TRACE";
  readonly errnoRet?: number;
  readonly args?: readonly ProfileArgument[];
}

/** As container engines take it. */
export interface SeccompProfile {
  readonly defaultAction: "SCMP_ACT_ALLOW";
  readonly syscalls: readonly ProfileRule[];
}

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;
/** Low bits of CLONE_NEW*: NEWTIME (of `unshare` alone), NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const NEWTIME = 0x80;
const NEW_NAMESPACES = [
  0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000,
] as const;
const AF_NETLINK = 16;
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;

/**
 * The same rules as the filter of `seccompFilter`, in the engine's words. It does not know "any but these",
 * so what is left out is named: socket families 0, 3 to 9, 11 to 15 and all above 16. `emulator`: for gVisor,
 * whose own system calls are met, not the kernel's.
 */
export function seccompProfile(
  table: SyscallTable,
  { emulator }: { readonly emulator: boolean } = { emulator: false },
): SeccompProfile {
  return {
    defaultAction: "SCMP_ACT_ALLOW",
    syscalls: [
      refuse(Object.keys(table.refused), EPERM),
      absent(["clone3"], emulator),
      ...NEW_NAMESPACES.map((bit) => refuse(["clone", "unshare"], EPERM, [masked(0, bit)])),
      refuse(["unshare"], EPERM, [masked(0, NEWTIME)]),
      ...[0, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15].map((family) =>
        refuse(["socket"], EAFNOSUPPORT, [equal(0, family)]),
      ),
      refuse(["socket"], EAFNOSUPPORT, [{ index: 0, value: AF_NETLINK, op: "SCMP_CMP_GT" }]),
      // Only NETLINK_ROUTE (0).
      refuse(["socket"], EAFNOSUPPORT, [
        equal(0, AF_NETLINK),
        { index: 2, value: 0, op: "SCMP_CMP_NE" },
      ]),
      refuse(["socketpair"], EAFNOSUPPORT, [{ index: 0, value: 1, op: "SCMP_CMP_NE" }]),
      ...[TIOCSTI, TIOCLINUX].map((code) => refuse(["ioctl"], EPERM, [equal(1, code)])),
    ],
  };
}

function refuse(
  names: readonly string[],
  errnoRet: number,
  args?: readonly ProfileArgument[],
): ProfileRule {
  return { names, action: "SCMP_ACT_ERRNO", errnoRet, ...(args && { args }) };
}

/** Answered as by a kernel that does not have them. gVisor's answer to a refusal is always EPERM. */
function absent(names: readonly string[], emulator: boolean): ProfileRule {
  return emulator ? { names, action: "SCMP_ACT_TRACE" } : refuse(names, ENOSYS);
}

function equal(index: number, value: number): ProfileArgument {
  return { index, value, op: "SCMP_CMP_EQ" };
}

function masked(index: number, bit: number): ProfileArgument {
  return { index, value: bit, valueTwo: bit, op: "SCMP_CMP_MASKED_EQ" };
}
