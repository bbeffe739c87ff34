import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Bind } from "./container-spec.ts";

/**
 * Shows the names of the sandbox's user, who has a number of its own, in place of what is shown there
 * already. `user` is `UID:GID`; `hasPlaces` for a root where a place is made for what has none.
 */
export function withUsers(
  binds: readonly Bind[],
  { handFolder, user, hasPlaces }: { handFolder: string; user: string; hasPlaces: boolean },
): readonly Bind[] {
  const shown = new Set(binds.map(({ target }) => target));
  const users = writeUsers(handFolder, user).filter(({ target }) => hasPlaces || shown.has(target));
  const replaced = new Set(users.map(({ target }) => target));
  return [...binds.filter(({ target }) => !replaced.has(target)), ...users];
}

function writeUsers(handFolder: string, user: string): Bind[] {
  const [uid, gid] = user.split(":");
  const files = {
    passwd: `root:x:0:0:root:/root:/usr/sbin/nologin\nsandbox:x:${uid}:${gid}:sandbox:/workspace:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n`,
    group: `root:x:0:\nsandbox:x:${gid}:\nnogroup:x:65534:\n`,
  };
  return Object.entries(files).map(([name, content]) => {
    const source = join(handFolder, `etc-${name}`);
    writeFileSync(source, content);
    chmodSync(source, 0o644);
    return { source, target: `/etc/${name}`, isWritable: false };
  });
}
