import { execFileSync } from "node:child_process";
import { chmod, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PackageSet, Recipe, SandboxBase } from "../../core/ports/hands.ts";
import type { Sandbox, SandboxProvider } from "../../core/ports/sandbox.ts";
import { openGuard } from "../../egress/open-egress.ts";
import { Outside, PUBLIC } from "../egress/outside.testsuite.ts";
import { ManualClock } from "../fake/manual-clock.ts";
import { BubblewrapProvider } from "../sandbox/bubblewrap/bubblewrap-provider.ts";
import type { LocalProvider, LocalProviderOptions } from "../sandbox/local/local-provider.ts";
import { removeFolder } from "../sandbox/local/remove-folder.ts";
import type { PackageRegistries } from "./managers.ts";
import { openOutfitted, type PACKAGE_LIMITS } from "./open-outfitted.ts";

const HOST: SandboxBase = { type: "host" };
export const ORIGIN = "http://registry.test";

/** For every manager whose registry a test serves. */
export const REGISTRIES: PackageRegistries = {
  cargo: `${ORIGIN}/crates.git`,
  gem: `${ORIGIN}/`,
  go: `${ORIGIN}/go`,
  pip: `${ORIGIN}/simple`,
};

export interface PackagesWorld extends AsyncDisposable {
  readonly folder: string;
  readonly outside: Outside;
  readonly clock: ManualClock;
  /** `event manager`, in order. */
  readonly reported: string[];
  readonly provider: SandboxProvider;
  /** Another process of the same installation. */
  another(limits?: Partial<typeof PACKAGE_LIMITS>): SandboxProvider;
  /** Runs a command in a new sandbox and says what it wrote. */
  run(command: string, packages: PackageSet, options?: RunOptions): Promise<string>;
}

interface RunOptions {
  readonly base?: SandboxBase;
  readonly provider?: SandboxProvider;
}

interface WorldOptions {
  /** What may be dialled for real, instead of the world that a test makes up. */
  readonly real?: readonly string[];
  readonly registries?: PackageRegistries;
  readonly limits?: Partial<typeof PACKAGE_LIMITS>;
  /** bubblewrap's unless given. */
  readonly provide?: (options: LocalProviderOptions) => LocalProvider;
}

/** An installation whose sandboxes can have packages. */
export async function openPackagesWorld({
  real,
  registries = REGISTRIES,
  limits,
  provide = (options) => new BubblewrapProvider(options),
}: WorldOptions = {}): Promise<PackagesWorld> {
  const folder = await mkdtemp(join(tmpdir(), "drover-packages-"));
  await chmod(folder, 0o700);
  const outside = new Outside();
  outside.name(new URL(ORIGIN).hostname, [PUBLIC]);
  const clock = new ManualClock();
  const reported: string[] = [];
  const egress = real === undefined ? outside : { guard: openGuard(real) };
  const another = (more?: Partial<typeof PACKAGE_LIMITS>) => {
    const blobPath = (_: string, sha256: string) => join(folder, sha256);
    const inner = provide({ dataFolder: folder, blobPath, egress });
    return openOutfitted(inner, {
      ...{ dataFolder: folder, registries, clock, limits: { ...limits, ...more } },
      report: (event, { manager }) => reported.push(`${event} ${manager}`),
    });
  };
  const provider = another();
  let hands = 0;
  return {
    ...{ folder, outside, clock, reported, provider, another },
    async run(command, packages, { base = HOST, provider: by = provider } = {}) {
      hands += 1;
      const handId = `hand_${hands}`;
      const network = { type: "none" } as const;
      const [name] = by.names;
      const recipe: Recipe = { provider: name, base, packages, mounts: [], network };
      try {
        return await outputOf(
          await by.provision({ workspaceId: "w", handId, recipe }, AbortSignal.timeout(600_000)),
          command,
        );
      } finally {
        await by.dispose(handId);
      }
    },
    async [Symbol.asyncDispose]() {
      await another().reap();
      await removeFolder(folder, []);
      await outside[Symbol.asyncDispose]();
    },
  };
}

export async function outputOf(sandbox: Sandbox, command: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  const onOutput = (chunk: Uint8Array) => {
    chunks.push(chunk);
  };
  await sandbox.exec({ command, timeoutMs: 60_000 }, onOutput, new AbortController().signal);
  return Buffer.concat(chunks).toString("utf8");
}

/** The mirror and release that this machine's own packages come from. */
export function aptSource(): { mirror: string; suite: string } {
  const format = ["--format", "$(SITE) $(RELEASE)", "Created-By: Packages"];
  const lines = execFileSync("apt-get", ["indextargets", ...format], { encoding: "utf8" });
  const [mirror, suite] = lines.split("\n")[0]?.split(" ") ?? [];
  if (mirror === undefined || suite === undefined) throw new Error("apt has no source here");
  return { mirror, suite };
}

/** The npm registry that this machine is configured to use. */
export function npmRegistry(): string {
  return execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).trim();
}
