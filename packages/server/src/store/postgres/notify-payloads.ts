import { z } from "zod";
import type { Announcement } from "../../core/ports/announcements.ts";

/** PostgreSQL refuses a payload of 8,000 bytes. */
const PAYLOAD_BYTES = 7_900;
/** Characters of a preview that fit in any writing: JSON may take six bytes for one. */
const TEXT_LENGTH = 1_000;

const Session = { workspaceId: z.string(), sessionId: z.string() };
const Changed = z.object({
  type: z.literal("changed"),
  ...Session,
  lastSeq: z.number(),
  due: z.boolean(),
});
const Preview = z.object({
  type: z.literal("preview"),
  ...Session,
  threadId: z.string(),
  preview: z.discriminatedUnion("type", [
    z.object({
      type: z.literal("event_start"),
      event: z.object({ type: z.string(), id: z.string() }),
    }),
    z.object({
      type: z.literal("event_delta"),
      event_id: z.string(),
      delta: z.object({
        type: z.literal("content_delta"),
        index: z.number(),
        content: z.object({ type: z.literal("text"), text: z.string() }),
      }),
    }),
  ]),
});
const Payload = z.object({
  from: z.string(),
  list: z.array(
    z.discriminatedUnion("type", [Changed, Preview, z.object({ type: z.literal("missed") })]),
  ),
});
export type Payload = z.infer<typeof Payload>;

/** Undefined for what no server of this version sent: it is a hint, and nothing is lost without it. */
export function readPayload(text: string): Payload | undefined {
  try {
    return Payload.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** The announcements in as few payloads as will take them, in their order; long previews in pieces. */
export function payloadsOf(from: string, announcements: readonly Announcement[]): string[] {
  const payloads: string[] = [];
  const frame = Buffer.byteLength(JSON.stringify({ from, list: [] }));
  let list: Announcement[] = [];
  let bytes = frame;
  const flush = () => {
    if (list.length > 0) payloads.push(JSON.stringify({ from, list }));
    list = [];
    bytes = frame;
  };
  for (const announcement of announcements.flatMap(inPieces)) {
    const more = Buffer.byteLength(JSON.stringify(announcement)) + 1;
    if (bytes + more > PAYLOAD_BYTES) flush();
    list.push(announcement);
    bytes += more;
  }
  flush();
  return payloads;
}

/** The two as one, if hearing that one is as good: a later change, or more text of the same preview. */
export function merged(earlier: Announcement, later: Announcement): Announcement | undefined {
  if (earlier.type === "changed" && later.type === "changed") {
    const lastSeq = Math.max(earlier.lastSeq, later.lastSeq);
    return { ...later, lastSeq, due: earlier.due || later.due };
  }
  if (earlier.type !== "preview" || later.type !== "preview") return undefined;
  const [first, second] = [earlier.preview, later.preview];
  if (first.type !== "event_delta" || second.type !== "event_delta") return undefined;
  const isSame = first.event_id === second.event_id && first.delta.index === second.delta.index;
  if (!isSame) return undefined;
  return withText(earlier, first.delta.content.text + second.delta.content.text);
}

function inPieces(announcement: Announcement): readonly Announcement[] {
  if (announcement.type !== "preview") return [announcement];
  const { preview } = announcement;
  if (preview.type !== "event_delta") return [announcement];
  const { text } = preview.delta.content;
  if (text.length <= TEXT_LENGTH) return [announcement];
  return pieces(text).map((piece) => withText(announcement, piece));
}

function withText(announcement: Announcement, text: string): Announcement {
  if (announcement.type !== "preview") return announcement;
  const { preview } = announcement;
  if (preview.type !== "event_delta") return announcement;
  const delta = { ...preview.delta, content: { ...preview.delta.content, text } };
  return { ...announcement, preview: { ...preview, delta } };
}

/** Cut where no character is divided. */
function pieces(text: string): string[] {
  const found: string[] = [];
  for (let at = 0; at < text.length; ) {
    const end = at + TEXT_LENGTH;
    const isDivided = /[\ud800-\udbff]/.test(text.charAt(end - 1)) && end < text.length;
    const cut = isDivided ? end - 1 : end;
    found.push(text.slice(at, cut));
    at = cut;
  }
  return found;
}
