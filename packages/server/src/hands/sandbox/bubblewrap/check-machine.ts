import { SandboxUnavailableError } from "../../../core/ports/sandbox.ts";
import { findSyscallTable, type SyscallTable } from "../seccomp/syscall-tables.ts";

/** The machine's system calls. Throws `SandboxUnavailableError` where no sandbox of the mode can be made. */
export function checkMachine(mode: "root" | "rootless"): SyscallTable {
  const table = findSyscallTable(process.arch);
  if (!table || process.platform !== "linux") {
    const machine = `${process.platform} on ${process.arch}`;
    throw new SandboxUnavailableError(
      `bubblewrap sandboxes need Linux on x64 or arm64, and this is ${machine}`,
    );
  }
  if (mode === "root" && process.getuid?.() !== 0) {
    throw new SandboxUnavailableError("sandboxes of mode root can only be made by root");
  }
  if (mode === "rootless" && process.getuid?.() === 0) {
    throw new SandboxUnavailableError("root can only make sandboxes of mode root");
  }
  return table;
}
