import { createHash } from "node:crypto";
import { chmod, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SkillMount } from "../../../core/ports/hands.ts";
import type { NetworkWorld } from "../../../core/ports/sandbox-network.testsuite.ts";
import { Outside } from "../../egress/outside.testsuite.ts";
import type { LocalProvider, LocalProviderOptions } from "./local-provider.ts";
import { removeFolder } from "./remove-folder.ts";
import type { SandboxLimits } from "./sandbox-layout.ts";

export interface InstallationWorld extends NetworkWorld {
  readonly folder: string;
  readonly provider: LocalProvider;
  another(options?: Pick<LocalProviderOptions, "answerMs">): LocalProvider;
  /** Stores an archive and gives a mount of it. */
  skill(name: string, zip: Uint8Array): Promise<SkillMount>;
}

/** An installation whose sandboxes other processes can make too. */
export interface ProviderWorld extends InstallationWorld {
  /** Code that defines `provider` by `options`, which are those of `LocalProvider`. */
  readonly code: string;
}

/** An installation in a folder that nobody else can enter, whose sandboxes the given provider makes. */
export async function openInstallation(
  provide: (options: LocalProviderOptions) => LocalProvider,
  limits: Partial<SandboxLimits> = {},
): Promise<InstallationWorld> {
  const folder = await mkdtemp(join(tmpdir(), "drover-sandbox-"));
  await chmod(folder, 0o700);
  const blobPath = (_workspaceId: string, sha256: string) => join(folder, sha256);
  const outside = new Outside();
  const warnings: string[] = [];
  const onWarning = (message: string) => warnings.push(message);
  const open: InstallationWorld["another"] = ({ answerMs } = {}) =>
    provide({
      dataFolder: folder,
      blobPath,
      egress: outside,
      onWarning,
      limits,
      ...(answerMs !== undefined && { answerMs }),
    });
  const provider = open();
  return {
    folder,
    outside,
    provider,
    another: open,
    async mount(mount_path, content) {
      const sha256 = createHash("sha256").update(content).digest("hex");
      await writeFile(join(folder, sha256), content, { mode: 0o600 });
      return { type: "file", mount_path, sha256, size_bytes: Buffer.byteLength(content) };
    },
    async skill(name, zip) {
      const sha256 = createHash("sha256").update(zip).digest("hex");
      await writeFile(join(folder, sha256), zip, { mode: 0o600 });
      return {
        type: "skill",
        mount_path: `/mnt/skills/${name}`,
        sha256,
        size_bytes: zip.byteLength,
        source: "workspace",
        description: "Does what it is made for.",
      };
    },
    async [Symbol.asyncDispose]() {
      await open().reap();
      await removeFolder(folder, []);
      await outside[Symbol.asyncDispose]();
      if (warnings.length > 0) throw new Error(warnings.join("; "));
    },
  };
}
