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

function sandboxText(session: SessionRecord): string {
  const uploads = session.recipe.mounts.map((mount) => `- ${mount.mount_path} (read-only)`);
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
