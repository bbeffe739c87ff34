import { isBlankText } from "../blank-text.ts";
import type { ModelBlock } from "../ports/model.ts";
import type { SessionRecord } from "../ports/sessions.ts";

/**
 * What the model is told besides the agent's own system prompt: where its tools run and what is
 * there. Stable within a session, so that a cached prefix stays valid.
 */
export function systemBlocks(session: SessionRecord, hasTools: boolean): readonly ModelBlock[] {
  const { system } = session.agent;
  const texts = [...(hasTools ? [sandboxText(session)] : []), ...(system ? [system] : [])];
  return texts.filter((text) => !isBlankText(text)).map((text) => ({ type: "text", text }));
}

/** Names what a sandbox of this version really has: files, and no other kind of resource. */
function sandboxText(session: SessionRecord): string {
  const later = new Set(
    session.resources
      .filter((resource) => resource["created_at"] !== session.created_at)
      .map((resource) => resource["mount_path"]),
  );
  const uploads = session.recipe.mounts.map(({ mount_path }) =>
    later.has(mount_path)
      ? `- ${mount_path} (read-only; added later: not in a sandbox made before)`
      : `- ${mount_path} (read-only)`,
  );
  return [
    "Your tools run in a Linux sandbox of this session. It is made when you first use it and keeps",
    "its files between uses; if it has to be replaced, the files under /workspace and",
    "/mnt/session/outputs stay and everything else is new.",
    "- Your working directory is /workspace.",
    "- Write what the user is to receive into /mnt/session/outputs.",
    "- The sandbox has no network: nothing outside it can be reached, whatever the environment says.",
    ...(uploads.length > 0 ? ["Files of the user:", ...uploads] : []),
  ].join("\n");
}
