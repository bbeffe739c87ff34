import type { DocumentBlock, ImageBlock } from "@drover/api";
import type { SystemTurns } from "../models/system-turns.ts";
import type { ModelBlock } from "../ports/model.ts";
import type { LogEvent } from "../session/log-event.ts";
import { contextMessages } from "./context.ts";
import { withSystemTurns } from "./message-order.ts";
import { isMedia, mayHoldMedia, withBlocks } from "./withheld.ts";

/** Blocks of one event. */
export interface MediaPlaces {
  readonly event_id: string;
  /** Indexes in its content. */
  readonly places: readonly number[];
}

/** How an API names the block that it refuses, such as `messages.3.content.1.image.source`. */
const PATH = /messages\.(\d{1,6})\.content\.(\d{1,6})(?:(?:\.tool_result)?\.content\.(\d{1,6}))?/g;
const SPEAKS_OF_IMAGES = /\b(image|picture|photo|vision)/i;
const SPEAKS_OF_DOCUMENTS = /\b(document|pdf|page)/i;
const SPEAKS_OF_MEDIA = /\b(media|file|url|download|fetch|base64|attachment|multimodal)/i;

/** The model or its server takes none of them, however good they are. */
const NEVER_TAKEN =
  /\b(?:image|vision|picture|document|pdf|file|media)s?\b.{0,60}\bnot (?:supported|allowed|enabled)\b|(?:not|n't) (?:support|accept|take) (?:\w+ ){0,2}(?:image|vision|picture|document|pdf|file|media)|not (?:a )?(?:multimodal|vision)/i;

interface Placed {
  readonly path: string;
  readonly event_id: string;
  readonly place: number;
  readonly type: "image" | "document";
}

/**
 * The media that an API means with its refusal of a request: the block that it names; else all of a kind
 * that it does not take at all; else those of the kind it speaks of in the newest event that has any.
 * Empty if it does not speak of media.
 */
export function refusedMedia(
  events: readonly LogEvent[],
  message: string,
  systemTurns: SystemTurns,
): readonly MediaPlaces[] {
  const media = placedMedia(events, systemTurns);
  const named = new Set([...message.matchAll(PATH)].map((match) => match.slice(1).join(".")));
  const exact = media.find(({ path }) => named.has(path));
  if (exact !== undefined) return [{ event_id: exact.event_id, places: [exact.place] }];
  const types = typesSpokenOf(message);
  const meant = media.filter(({ type }) => types.includes(type));
  const newest = meant.at(-1)?.event_id;
  const isNever = NEVER_TAKEN.test(message);
  return byEvent(meant.filter(({ event_id }) => isNever || event_id === newest));
}

function byEvent(media: readonly Placed[]): readonly MediaPlaces[] {
  const ids = [...new Set(media.map(({ event_id }) => event_id))];
  return ids.map((event_id) => ({
    event_id,
    places: media.filter((each) => each.event_id === event_id).map(({ place }) => place),
  }));
}

function typesSpokenOf(message: string): readonly Placed["type"][] {
  const images = SPEAKS_OF_IMAGES.test(message);
  const documents = SPEAKS_OF_DOCUMENTS.test(message);
  if (images || documents) {
    return [...(images ? (["image"] as const) : []), ...(documents ? (["document"] as const) : [])];
  }
  return SPEAKS_OF_MEDIA.test(message) ? ["image", "document"] : [];
}

/**
 * The media of a conversation where they stand in it. The context is built from events whose media are
 * exchanged for marks, so that this can never differ from what is sent.
 */
function placedMedia(events: readonly LogEvent[], systemTurns: SystemTurns): readonly Placed[] {
  const marks: Omit<Placed, "path">[] = [];
  const marked = events.map((event) => {
    if (!mayHoldMedia(event)) return event;
    return withBlocks(event, (block, place) => {
      if (!isMedia(block)) return block;
      marks.push({ event_id: event.id, place, type: block.type });
      return mark(block, marks.length - 1);
    });
  });
  return withSystemTurns(contextMessages(marked), systemTurns).flatMap(({ content }, message) =>
    content.flatMap((block, index) => [
      ...markIn(block, `${message}.${index}.`, marks),
      ...innerBlocks(block).flatMap((inner, place) =>
        markIn(inner, `${message}.${index}.${place}`, marks),
      ),
    ]),
  );
}

function mark(block: ImageBlock | DocumentBlock, number: number): ImageBlock | DocumentBlock {
  return { ...block, source: { type: "url", url: `mark:${number}` } };
}

function markIn(
  block: ModelBlock,
  path: string,
  marks: readonly Omit<Placed, "path">[],
): readonly Placed[] {
  const source = block["source"];
  if (typeof source !== "object" || source === null || !("url" in source)) return [];
  const placed = marks[Number(String(source.url).slice("mark:".length))];
  return placed === undefined ? [] : [{ ...placed, path }];
}

function innerBlocks(block: ModelBlock): readonly ModelBlock[] {
  const content = block.type === "tool_result" ? block["content"] : undefined;
  return Array.isArray(content) ? content : [];
}
