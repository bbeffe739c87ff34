import type { ResultBlock } from "@drover/api";
import { z } from "zod";
import { MEDIA_BYTES_MAX } from "../../core/files/media.ts";
import { tamed } from "../../core/harness/tame.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Egress } from "../../core/ports/egress.ts";
import { textTokens } from "../../core/session/token-estimate.ts";
import type { WebFetchSettings } from "../../core/tools/web-settings.ts";
import { decodedText } from "./charset.ts";
import { kindOf } from "./content-kind.ts";
import type { PageReader } from "./page-reader.ts";
import { type Retrieved, retrieve } from "./retrieve.ts";
import { WebError } from "./web-error.ts";

const RETRIEVE_MS = 30_000;
/** Tokens of text that are given unless the agent's settings say otherwise. */
const CONTENT_TOKENS_DEFAULT = 25_000;
/** Bytes that one token is at least taken for, as in the estimate. */
const BYTES_PER_TOKEN = 3;
/** Bytes of text whatever the settings say: a result has a size that the hands can hold. */
const TEXT_BYTES_MAX = 2 * 1024 * 1024;

export interface FetchParts {
  readonly egress: Egress;
  readonly reader: PageReader;
  readonly clock: Pick<Clock, "now">;
  /** Milliseconds for all requests of one call together; half a minute unless given. */
  readonly retrieveMs?: number;
}

const Input = z.object({ url: z.string() });

/** Carries out one call of `web_fetch`. Throws `WebError` for what the model is to know. */
export async function webFetch(
  input: unknown,
  settings: WebFetchSettings,
  { egress, reader, clock, retrieveMs = RETRIEVE_MS }: FetchParts,
  signal: AbortSignal,
): Promise<readonly ResultBlock[]> {
  const { data } = Input.safeParse(input);
  if (data === undefined) throw new WebError("invalid_input", "url: a text is required");
  const endMs = clock.now() + retrieveMs;
  const leftMs = () => Math.max(1, endMs - clock.now());
  const got = await retrieve(data.url.trim(), { egress, settings, leftMs, signal });
  return await blocksOf(got, settings, reader, signal);
}

async function blocksOf(
  got: Retrieved,
  settings: WebFetchSettings,
  reader: PageReader,
  signal: AbortSignal,
): Promise<readonly ResultBlock[]> {
  const { url, contentType, body } = got;
  const kind = kindOf(contentType, body);
  switch (kind.type) {
    case "html": {
      const { title, text } = await reader.read(decodedText(contentType, body), url.href, signal);
      return [textBlock(got, title, text, settings)];
    }
    case "text":
      return [textBlock(got, "", decodedText(contentType, body), settings)];
    case "image": {
      if (body.byteLength * (4 / 3) > MEDIA_BYTES_MAX.image) throw tooLarge("the image");
      const source = { type: "base64", media_type: kind.mediaType, data: base64(body) } as const;
      return [headBlock(got), { type: "image", source }];
    }
    case "pdf": {
      const source = { type: "base64", media_type: kind.mediaType, data: base64(body) } as const;
      return [headBlock(got), { type: "document", source }];
    }
    case "unsupported": {
      const what =
        contentType === "" ? "of no known type" : JSON.stringify(contentType.slice(0, 200));
      throw new WebError(
        "unsupported_content_type",
        `what is there is ${what}, and neither a page, text, image nor PDF`,
      );
    }
  }
}

/** Where it really came from, and how it is to be read. */
function head({ url, contentType }: Retrieved, more: readonly string[] = []): string {
  const type = contentType.replaceAll(/[^\x20-\x7e]/g, "").slice(0, 200);
  return [`URL: ${url.href}`, ...(type === "" ? [] : [`Content-Type: ${type}`]), ...more].join(
    "\n",
  );
}

function headBlock(got: Retrieved): ResultBlock {
  return { type: "text", text: head(got) };
}

function textBlock(
  got: Retrieved,
  title: string,
  content: string,
  { max_content_tokens }: WebFetchSettings,
): ResultBlock {
  const tokensMax = max_content_tokens ?? CONTENT_TOKENS_DEFAULT;
  const whole = tamed(content);
  const text = beginningOf(whole, Math.min(tokensMax * BYTES_PER_TOKEN, TEXT_BYTES_MAX));
  const isCut = text.length < whole.length;
  const told = head(got, [
    ...(title === "" ? [] : [`Title: ${tamed(title)}`]),
    ...(isCut
      ? [
          `Shown: the first ${textTokens(text)} of about ${textTokens(whole)} tokens; the rest is left out.`,
        ]
      : []),
  ]);
  return { type: "text", text: `${told}\n\n${text === "" ? "(no text)" : text}` };
}

/** As much of the beginning as has at most so many bytes in UTF-8. */
function beginningOf(text: string, bytesMax: number): string {
  if (Buffer.byteLength(text) <= bytesMax) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytesMax));
  return text.slice(0, read);
}

function tooLarge(what: string): WebError {
  return new WebError("content_too_large", `${what} is larger than a model can be given`);
}

function base64(body: Uint8Array): string {
  return Buffer.from(body).toString("base64");
}
