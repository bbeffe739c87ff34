import { isBlankText } from "../blank-text.ts";
import type { ModelBlock } from "../ports/model.ts";
import type { SessionRecord } from "../ports/sessions.ts";
import { fileLines, missingLines, skillLines } from "./mounted-text.ts";

/**
 * What the model is told besides the agent's own system prompt: where its tools run, what is there and
 * which skills it can load. Stable within a session, so that a cached prefix stays valid; only what is
 * attached or detached later changes it.
 */
export function systemBlocks(session: SessionRecord, hasTools: boolean): readonly ModelBlock[] {
  const { system } = session.agent;
  const own = hasTools ? [sandboxText(session), skillLines(session).join("\n")] : [];
  return [...own, ...(system ? [system] : [])]
    .filter((text) => !isBlankText(text))
    .map((text) => ({ type: "text", text }));
}

function sandboxText(session: SessionRecord): string {
  return [
    "Your tools run in a Linux sandbox of this session. It is made when you first use it and keeps",
    "its files between uses; if it has to be replaced, the files under /workspace and",
    "/mnt/session/outputs stay and everything else is new.",
    "- Your working directory is /workspace.",
    "- Write what the user is to receive into /mnt/session/outputs.",
    "- The sandbox has no network: nothing outside it can be reached, whatever the environment says.",
    ...fileLines(session),
    ...missingLines(session),
  ].join("\n");
}
