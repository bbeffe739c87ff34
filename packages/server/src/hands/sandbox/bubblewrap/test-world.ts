import { createHash } from "node:crypto";
import { chmod, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SkillMount } from "../../../core/ports/hands.ts";
import type { NetworkWorld } from "../../../core/ports/sandbox-network.testsuite.ts";
import { Outside } from "../../egress/outside.testsuite.ts";
import { removeFolder } from "../local/remove-folder.ts";
import type { SandboxLimits } from "../local/sandbox-layout.ts";
import { BubblewrapProvider } from "./bubblewrap-provider.ts";

export interface BubblewrapWorld extends NetworkWorld {
  readonly folder: string;
  /** Stores an archive and gives a mount of it. */
  skill(name: string, zip: Uint8Array): Promise<SkillMount>;
}

/** An installation in a folder that nobody else can enter. */
export async function openBubblewrapWorld(
  limits: Partial<SandboxLimits> = {},
): Promise<BubblewrapWorld> {
  const folder = await mkdtemp(join(tmpdir(), "drover-sandbox-"));
  await chmod(folder, 0o700);
  const blobPath = (_workspaceId: string, sha256: string) => join(folder, sha256);
  const outside = new Outside();
  const warnings: string[] = [];
  const onWarning = (message: string) => warnings.push(message);
  const open = () =>
    new BubblewrapProvider({
      dataFolder: folder,
      blobPath,
      egress: outside,
      onWarning,
      answerMs: 3_000,
      limits,
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
