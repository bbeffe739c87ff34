import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { diskFolders } from "../disk/disk-folders.ts";
import { type HandDisk, NOBODY } from "../disk/sandbox-disks.ts";
import { containerName, removeContainer } from "./containers.ts";
import type { EngineClient } from "./engine-client.ts";
import { type EngineMounts, withDisk } from "./engine-disk.ts";

const REMOVE_MS = 15_000;

export interface TriedEngine {
  readonly engine: EngineClient;
  readonly mounts: EngineMounts;
  readonly image: string;
  /** By which the container is found if it has to be removed later. */
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * Mounts a disk where the engine should see it and lets the engine look: it makes no container that is to
 * be shown what is not there. The container is never started.
 */
export async function tryDisk(
  { engine, mounts, image, labels }: TriedEngine,
  disk: HandDisk,
  stage: string,
): Promise<void> {
  const name = containerName(`trial-${randomBytes(8).toString("hex")}`);
  await withDisk(mounts, { disk, folders: diskFolders(), stage, uid: NOBODY }, async () => {
    const bind = { Type: "bind", Source: join(stage, "workspace"), Target: "/workspace" };
    try {
      await engine.ask({
        method: "POST",
        path: `/containers/create?name=${name}`,
        json: {
          ...{ Image: image, Cmd: ["/none"], Labels: labels },
          HostConfig: { NetworkMode: "none", Mounts: [bind] },
        },
      });
    } finally {
      await removeContainer(engine, name, REMOVE_MS);
    }
  });
}
