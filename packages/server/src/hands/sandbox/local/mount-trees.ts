import { join } from "node:path";
import type { ProvisionRequest } from "../../../core/ports/sandbox.ts";
import { checkpointMount } from "../../checkpoints/restore-checkpoint.ts";
import type { SkillCache } from "../../skills/skill-cache.ts";
import { makeSkillTree } from "../../skills/skill-tree.ts";
import type { MountTrees } from "./sandbox-launcher.ts";
import { makeUploadTree } from "./upload-tree.ts";

export interface MountSources {
  /** The file that holds a blob. */
  readonly blobPath: (workspaceId: string, sha256: string) => string;
  /** The file that holds a blob of the skills that are there for all workspaces. */
  readonly installedPath?: ((sha256: string) => string) | undefined;
  readonly skills: SkillCache;
}

/** The folders of what is mounted, made anew or as an earlier sandbox of the hand had them. */
export async function makeMountTrees(
  { workspaceId, recipe }: ProvisionRequest,
  { handFolder, isForeign }: { handFolder: string; isForeign: boolean },
  { blobPath, installedPath, skills: cache }: MountSources,
): Promise<MountTrees> {
  const uploads = await makeUploadTree({
    handFolder,
    mounts: [
      ...recipe.mounts.filter((mount) => mount.type === "file"),
      ...(recipe.checkpoint === undefined ? [] : [checkpointMount(recipe.checkpoint)]),
    ],
    blobPath: (sha256) => blobPath(workspaceId, sha256),
    isForeign,
  });
  const skills = await makeSkillTree({
    folder: join(handFolder, "skills"),
    cache,
    workspaceId,
    mounts: recipe.mounts.filter((mount) => mount.type === "skill"),
    blobPath,
    installedPath,
  });
  return skills === undefined ? { uploads } : { uploads, skills };
}
