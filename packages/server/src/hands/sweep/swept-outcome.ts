import type { ResultBlock } from "@drover/api";
import { unreachable } from "../../core/errors.ts";
import type { CallOutcome } from "../../core/ports/hands.ts";
import type { SecretMask } from "../../lib/secret-mask.ts";
import type { KnownSecrets } from "./known-secrets.ts";

/** An outcome as it may be kept: no secret of the session is in what a model will read. */
export function sweptOutcome(outcome: CallOutcome, known: KnownSecrets): CallOutcome {
  const { mask } = known;
  if (outcome.type !== "result" || mask.isEmpty) return outcome;
  return { ...outcome, content: outcome.content.map((block) => sweptBlock(block, mask)) };
}

function sweptBlock(block: ResultBlock, mask: SecretMask): ResultBlock {
  const text = (value: string) => mask.text(value);
  switch (block.type) {
    case "text":
      return { ...block, text: text(block.text) };
    case "search_result":
      return {
        ...block,
        source: text(block.source),
        title: text(block.title),
        content: block.content.map((part) => ({ ...part, text: text(part.text) })),
      };
    case "document":
      return {
        ...block,
        source: sweptSource(block.source, mask),
        ...(typeof block.title === "string" && { title: text(block.title) }),
        ...(typeof block.context === "string" && { context: text(block.context) }),
      };
    case "image":
      return { ...block, source: sweptSource(block.source, mask) };
    default:
      return unreachable(block);
  }
}

function sweptSource<Source extends { readonly type: string }>(
  source: Source,
  mask: SecretMask,
): Source {
  if ("data" in source && typeof source.data === "string") {
    return { ...source, data: mask.text(source.data) };
  }
  if ("url" in source && typeof source.url === "string") {
    return { ...source, url: mask.text(source.url) };
  }
  return source;
}
