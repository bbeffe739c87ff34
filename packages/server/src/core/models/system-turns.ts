import type { FindModel } from "./offered-models.ts";

/**
 * How a model takes instructions in the middle of a conversation: as a turn of the role `system`, as
 * text in the user's turn, or not at all, which is for the models of the contract that are known to
 * refuse them.
 */
export type SystemTurns = "turn" | "text" | "refused";

const CLAUDE = /\bclaude-/;
const CLAUDE_WITH_TURNS = /\bclaude-(?:opus-(?:4-[89]|[5-9])|(?:fable|mythos)-[5-9])/;
const OFFLINE = /^offline\//;

/** By the model's id or alias, and what is known of it. */
export function systemTurnsOf(modelId: string, findModel: FindModel): SystemTurns {
  const known = findModel(modelId);
  const id = known?.info.id ?? modelId;
  if (CLAUDE.test(id)) return CLAUDE_WITH_TURNS.test(id) ? "turn" : "refused";
  return OFFLINE.test(id) || known?.abilities?.systemMessages === true ? "turn" : "text";
}
