import { expect, test } from "vitest";
import { assembleBpf } from "./bpf.ts";
import { seccompFilter } from "./seccomp-filter.ts";
import { findSyscallTable, type SyscallTable } from "./syscall-tables.ts";

const ALLOWED = "allowed";
const EPERM = "errno 1";
const ENOSYS = "errno 38";
const EAFNOSUPPORT = "errno 97";

interface Call {
  readonly arch?: number;
  readonly number: number;
  readonly args?: readonly number[];
}

/** Runs the filter as the kernel would. */
function verdict(program: Uint8Array, call: Call): string {
  const data = seccompData(call);
  const code = new DataView(program.buffer);
  let word = 0;
  for (let at = 0; at * 8 < code.byteLength; at += 1) {
    const operation = code.getUint16(at * 8, true);
    const k = code.getUint32(at * 8 + 4, true);
    if (operation === 0x06) return k === 0x7fff0000 ? ALLOWED : `errno ${k & 0xffff}`;
    if (operation === 0x20) word = data.getUint32(k, true);
    else if (operation === 0x54) word = (word & k) >>> 0;
    else at += distance(operation, word, k, code.getUint16(at * 8 + 2, true));
  }
  throw new Error("the filter has no end");
}

function seccompData({ arch = 0, number, args = [] }: Call): DataView {
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, number >>> 0, true);
  data.setUint32(4, arch >>> 0, true);
  for (const [index, value] of args.entries()) {
    data.setBigUint64(16 + index * 8, BigInt(value), true);
  }
  return data;
}

/** How many instructions a jump leaves out. `targets` are the true and the false one, a byte each. */
function distance(operation: number, word: number, k: number, targets: number): number {
  if (operation === 0x05) return k;
  const isMet = operation === 0x15 ? word === k : word >= k;
  if (operation !== 0x15 && operation !== 0x35) throw new Error(`unknown instruction ${operation}`);
  return isMet ? targets & 0xff : targets >> 8;
}

function tableOf(arch: string): SyscallTable {
  const table = findSyscallTable(arch);
  if (!table) throw new Error(`no table for ${arch}`);
  return table;
}

test.each([
  ["x64", { read: 0, execve: 59, ptrace: 101, pidfd_open: 434 }],
  ["arm64", { read: 63, execve: 221, ptrace: 117, pidfd_open: 434 }],
])("the filter for %s decides by number and arguments", (name, ordinary) => {
  const table = tableOf(name);
  const filter = seccompFilter(table);
  const ask = (number: number, ...args: number[]) =>
    verdict(filter, { arch: table.auditArch, number, args });
  for (const number of Object.values(ordinary)) expect(ask(number)).toBe(ALLOWED);
  for (const number of Object.values(table.refused)) expect(ask(number)).toBe(EPERM);
  expect(ask(table.clone3)).toBe(ENOSYS);
  expect(ask(0x40000000)).toBe(ENOSYS);
  expect(ask(-1)).toBe(ENOSYS);
  const SIGCHLD = 17;
  const THREAD = 0x3d0f00;
  expect([ask(table.clone, SIGCHLD), ask(table.clone, THREAD)]).toEqual([ALLOWED, ALLOWED]);
  for (const bit of [
    0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000,
  ]) {
    expect(ask(table.clone, bit | SIGCHLD)).toBe(EPERM);
    expect(ask(table.unshare, bit)).toBe(EPERM);
  }
  const CLONE_NEWTIME = 0x80;
  const CLONE_FILES = 0x400;
  expect(ask(table.unshare, CLONE_NEWTIME)).toBe(EPERM);
  expect(ask(table.unshare, CLONE_FILES)).toBe(ALLOWED);
  for (const family of [1, 2, 10]) expect(ask(table.socket, family)).toBe(ALLOWED);
  for (const family of [0, 3, 9, 17, 29, 38, 40, 44]) {
    expect(ask(table.socket, family)).toBe(EAFNOSUPPORT);
    expect(ask(table.socketpair, family)).toBe(EAFNOSUPPORT);
  }
  // The kernel takes the family from the low word, and so does the filter.
  expect(ask(table.socket, 2 ** 32 + 40)).toBe(EAFNOSUPPORT);
  expect([ask(table.socket, 16, 3, 0), ask(table.socket, 16, 3, 12)]).toEqual([
    ALLOWED,
    EAFNOSUPPORT,
  ]);
  expect(ask(table.socketpair, 1)).toBe(ALLOWED);
  expect([ask(table.ioctl, 0, 0x5401), ask(table.ioctl, 0, 0x5412)]).toEqual([ALLOWED, EPERM]);
  expect([ask(table.ioctl, 0, 0x541c), ask(table.ioctl, 0, 2 ** 32 + 0x5412)]).toEqual([
    EPERM,
    EPERM,
  ]);
});

test("a system call of another architecture is unknown", () => {
  const i386 = 0x40000003;
  const filter = seccompFilter(tableOf("x64"));
  expect(verdict(filter, { arch: i386, number: 0 })).toBe(ENOSYS);
});

test("there is no table for other processors", () => {
  expect(findSyscallTable("riscv64")).toBe(undefined);
});

test("a jump to nowhere or back is an error", () => {
  expect(() => assembleBpf([{ do: "goto", to: "nowhere" }])).toThrow("no label nowhere");
  expect(() =>
    assembleBpf([
      { do: "label", name: "back" },
      { do: "goto", to: "back" },
    ]),
  ).toThrow("lies behind");
});

test.each(["x64", "arm64"])(
  "for installers on %s changes of ownership succeed and are not made",
  (name) => {
    const table = tableOf(name);
    const { auditArch: arch } = table;
    const usual = seccompFilter(table);
    const pretending = seccompFilter(table, { pretendsOwnership: true });
    for (const number of Object.values(table.ownership)) {
      expect(verdict(usual, { arch, number })).toBe(ALLOWED);
      expect(verdict(pretending, { arch, number })).toBe("errno 0");
    }
    for (const number of Object.values(table.refused)) {
      expect(verdict(pretending, { arch, number })).toBe(EPERM);
    }
  },
);
