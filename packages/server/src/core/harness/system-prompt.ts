import { isBlankText } from "../blank-text.ts";
import { unreachable } from "../errors.ts";
import type { SandboxNetwork } from "../ports/hands.ts";
import type { ModelBlock } from "../ports/model.ts";
import type { SessionRecord } from "../ports/sessions.ts";
import {
  fileLines,
  memoryLines,
  missingLines,
  repositoryLines,
  skillLines,
} from "./mounted-text.ts";

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
    networkLine(session.recipe.network),
    ...fileLines(session),
    ...repositoryLines(session),
    ...memoryLines(session),
    ...missingLines(session),
  ].join("\n");
}

/** More hosts than this are named by their number. */
const NAMED_HOSTS_MAX = 40;

function networkLine(network: SandboxNetwork): string {
  switch (network.type) {
    case "none":
      return "- The sandbox has no network: nothing outside it can be reached, whatever the environment says.";
    case "unrestricted":
      return "- The sandbox reaches every host of the public internet over TCP, and no private network. There is no UDP and no ping; nothing can connect to it.";
    case "limited":
      return `- The sandbox reaches ${hostsText(network.hosts)} over TCP. All other hosts, UDP and ping do not work, and nothing can connect to it: do not try to get around that.`;
    default:
      return unreachable(network);
  }
}

function hostsText(hosts: readonly string[]): string {
  if (hosts.length === 0) return "no host";
  const named = hosts.slice(0, NAMED_HOSTS_MAX).join(", ");
  const more = hosts.length - NAMED_HOSTS_MAX;
  return more > 0 ? `only these hosts: ${named} and ${more} more` : `only these hosts: ${named}`;
}
