import type { UrlSourceFilter, UrlSources } from "@drover/api";
import type { EventType, LogEvent } from "../session/log-event.ts";
import { isWebTool } from "./web-tools.ts";
import { urlFinder } from "./web-urls.ts";

/** The events that tell where a URL came from. */
export const SOURCE_TYPES = [
  "user.message",
  "agent.tool_use",
  "agent.tool_result",
  "agent.custom_tool_use",
  "user.custom_tool_result",
] as const satisfies readonly EventType[];

type Content = readonly { readonly type: string; readonly text?: unknown }[];

/**
 * Looks in a session's events, the newest first, for a source that allows one URL: the text of a user
 * message, or a result of one of the client's or of the web tools. A result that is an error is no
 * source: such a text may repeat what the model itself had made up.
 */
export class UrlSearch {
  readonly #sources: UrlSources;
  readonly #holds: (text: string) => boolean;
  /** Calls whose result holds the URL, until their event tells which tool it was. */
  readonly #results = new Set<string>();
  #charsRead = 0;

  /** `url` in its canonical form. */
  constructor(url: string, sources: UrlSources) {
    this.#sources = sources;
    this.#holds = urlFinder(url);
  }

  /** Of all texts that it has looked through. */
  get charsRead(): number {
    return this.#charsRead;
  }

  /** True once a source is found. */
  isFoundIn(event: LogEvent): boolean {
    switch (event.type) {
      case "user.message":
        return this.#sources.user_input?.type !== "none" && this.#isIn(event.public.content);
      case "agent.tool_result":
        if (event.public.is_error !== true) {
          this.#take(event.public.tool_use_id, event.public.content);
        }
        return false;
      case "user.custom_tool_result":
        if (event.public.is_error !== true) {
          this.#take(event.public.custom_tool_use_id, event.public.content);
        }
        return false;
      case "agent.tool_use": {
        const isSource = this.#results.has(event.id) && isWebTool(event.public.name);
        return isSource && admits(this.#sources.server_tool_results, event.public.name);
      }
      case "agent.custom_tool_use": {
        const isSource = this.#results.has(event.id);
        return isSource && admits(this.#sources.client_tool_results, event.public.name);
      }
      default:
        return false;
    }
  }

  #take(callId: string, content: Content | undefined): void {
    if (this.#isIn(content ?? [])) this.#results.add(callId);
  }

  #isIn(content: Content): boolean {
    return content.some(({ text }) => {
      if (typeof text !== "string") return false;
      this.#charsRead += text.length;
      return this.#holds(text);
    });
  }
}

/** Null is what was not set, and admits all. */
function admits(filter: UrlSourceFilter | null, name: string): boolean {
  switch (filter?.type) {
    case undefined:
    case "all":
      return true;
    case "none":
      return false;
    case "only":
      return filter.tools.some((tool) => tool.name === name);
    case "except":
      return !filter.tools.some((tool) => tool.name === name);
  }
}
