import { createHash } from "node:crypto";
import { lstatSync, realpathSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import type { SandboxBase } from "../../core/ports/hands.ts";
import { SandboxUnavailableError } from "../../core/ports/sandbox.ts";
import type { BaseStore } from "./base-store.ts";

/** A root file system as this machine has it. */
export interface FoundBase {
  /** Absent for the host's programs. */
  readonly root?: string;
  /** Changes when what packages are installed with changes. */
  readonly id: string;
}

const HOST_PROGRAMS = ["python3", "node", "npm", "gem", "go", "cargo"];

/** Rejects with `SandboxUnavailableError` for one that is not here, and says how it gets here. */
export function findBase(base: SandboxBase, store: BaseStore): FoundBase {
  switch (base.type) {
    case "host":
      return { id: `host ${digest(HOST_PROGRAMS.map(programMark))}` };
    case "built": {
      const found = store.find(base.name);
      if (found !== undefined) return { root: found.root, id: found.id };
      throw new SandboxUnavailableError(
        `this machine has no base "${base.name}": run \`drover base build ${base.name}\`, or set DROVER_SANDBOX_BASE=host for new sessions`,
      );
    }
    case "directory":
      return { root: base.path, id: `directory ${digest(directoryMarks(base.path))}` };
  }
}

function directoryMarks(path: string): readonly unknown[] {
  if (!isAbsolute(path) || !lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    throw new SandboxUnavailableError(
      `the base ${path} (DROVER_SANDBOX_BASE) is not a folder of this machine`,
    );
  }
  const files = ["var/lib/dpkg/status", "usr/lib/os-release", "usr/bin"];
  return [path, ...files.map((file) => fileMark(join(path, file)))];
}

function programMark(name: string): unknown {
  for (const folder of ["/usr/local/bin", "/usr/bin"]) {
    const path = join(folder, name);
    if (!lstatSync(path, { throwIfNoEntry: false })) continue;
    try {
      const real = realpathSync(path);
      return [real, fileMark(real)];
    } catch {
      // A link that leads nowhere is no program.
    }
  }
  return null;
}

function fileMark(path: string): unknown {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat === undefined ? null : [stat.size, stat.mtimeMs];
}

function digest(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
