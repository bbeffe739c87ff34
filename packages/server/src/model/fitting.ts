import { withSystemTurns } from "../core/harness/message-order.ts";
import type { Effort, ModelAbilities, ModelBlock, ModelMessage } from "../core/ports/model.ts";
import { isRecord } from "../lib/is-record.ts";
import type { ProviderRequest } from "./provider.ts";
import { oneToolAtATime } from "./serial-tools.ts";

const EFFORTS: readonly Effort[] = ["low", "medium", "high", "xhigh", "max"];

export interface Fitted {
  readonly request: ProviderRequest;
  /** A sentence for each kind of thing that was held back; the same for the same model always. */
  readonly heldBack: readonly string[];
}

/**
 * The request as a model can take it. What it cannot take is put into words where it stood, so that
 * model and user know of it, and a conversation that has an image in it does not fail for ever.
 */
export function fitted(
  request: ProviderRequest,
  abilities: ModelAbilities | undefined,
  /** The agent's name for the model, which the user knows. */
  name: string,
): Fitted {
  if (abilities === undefined) return { request, heldBack: [] };
  const held = new Set<keyof ModelAbilities>();
  const noting = (ability: keyof ModelAbilities) => held.add(ability);
  const spoken = abilities.systemMessages
    ? request.messages
    : withSystemTurns(request.messages, "text");
  const taken = spoken.map((message) => fittedMessage(message, abilities, noting));
  const messages = abilities.parallelTools ? taken : oneToolAtATime(taken);
  // Only a conversation that has more than one call in a response is told differently.
  if (messages.length !== taken.length) noting("parallelTools");
  const { effort, ...rest } = request;
  const known = effort === undefined ? undefined : nearest(effort, abilities.efforts);
  return {
    request: {
      ...rest,
      messages,
      ...(known !== undefined && { effort: known }),
      ...(!abilities.parallelTools && { parallelTools: false }),
    },
    heldBack: [...held].map((ability) => sentence(ability, name)),
  };
}

type Note = (ability: keyof ModelAbilities) => void;

function fittedMessage(
  message: ModelMessage,
  abilities: ModelAbilities,
  noting: Note,
): ModelMessage {
  const content = message.content.flatMap((block) => fittedBlock(block, abilities, noting));
  const isSame =
    content.length === message.content.length &&
    content.every((block, index) => block === message.content[index]);
  return isSame ? message : { ...message, content };
}

function fittedBlock(
  block: ModelBlock,
  abilities: ModelAbilities,
  noting: Note,
): readonly ModelBlock[] {
  switch (block.type) {
    case "image":
      if (abilities.images) return [block];
      noting("images");
      return [words("[An image was here. You cannot see images.]")];
    case "document":
      if (abilities.pdf || !isPdf(block)) return [block];
      noting("pdf");
      return [words(`[A PDF document was here${titleOf(block)}. You cannot read PDF documents.]`)];
    case "tool_result":
      return [fittedResult(block, abilities, noting)];
    case "thinking":
    case "redacted_thinking":
      if (abilities.thinking) return [block];
      noting("thinking");
      return [];
    default:
      return [block];
  }
}

function fittedResult(block: ModelBlock, abilities: ModelAbilities, noting: Note): ModelBlock {
  const { content } = block;
  if (!Array.isArray(content)) return block;
  const blocks = content.filter(isBlock);
  const inner = blocks.flatMap((it) => fittedBlock(it, abilities, noting));
  return inner.every((it, index) => it === content[index]) ? block : { ...block, content: inner };
}

/** Given as data or by address; what is plain text anyone can read. */
function isPdf(block: ModelBlock): boolean {
  const { source } = block;
  return isRecord(source) && source["type"] !== "text" && source["type"] !== "content";
}

function titleOf(block: ModelBlock): string {
  const { title } = block;
  return typeof title === "string" && title !== "" ? ` (${title})` : "";
}

/** The highest that is not above, or the lowest there is; undefined if the model knows none. */
function nearest(effort: Effort, known: readonly Effort[]): Effort | undefined {
  const at = EFFORTS.indexOf(effort);
  return known.findLast((level) => EFFORTS.indexOf(level) <= at) ?? known[0];
}

function sentence(ability: keyof ModelAbilities, name: string): string {
  switch (ability) {
    case "images":
      return `The model ${name} takes no images: words stand in their place. If it does take them, the models file can say so (can: images).`;
    case "pdf":
      return `The model ${name} takes no PDF documents: words stand in their place. If it does take them, the models file can say so (can: pdf).`;
    case "thinking":
      return `The model ${name} does not think: what was thought before is not sent to it.`;
    case "parallelTools":
      return `The model ${name} uses one tool at a time: calls that were made at once are shown to it one after another.`;
    default:
      return `The model ${name} was not sent everything: it has no ${ability}.`;
  }
}

function words(text: string): ModelBlock {
  return { type: "text", text };
}

function isBlock(value: unknown): value is ModelBlock {
  return isRecord(value) && typeof value["type"] === "string";
}
