import type { LogEventOf } from "../core/session/log-event.ts";
import { SOURCE_TYPES, UrlSearch } from "../core/tools/url-sources.ts";
import { canonicalUrl } from "../core/tools/web-urls.ts";
import type { EffectContext } from "./settlement.ts";
import { threadTools } from "./thread-tools.ts";

const PAGE_EVENTS = 500;
/** Of the log and of its texts that are looked through for one URL, the newest first. */
const SEARCHED_EVENTS_MAX = 10_000;
const SEARCHED_CHARS_MAX = 64 * 1024 * 1024;

/**
 * True if the call is one of `web_fetch` for a URL that comes from no source that the agent's
 * `url_sources` allow, as the log stood when the call was made. Without them every URL may be fetched.
 * What is no usable URL is left to the hands, which say so.
 */
export async function isForeignUrl(
  call: LogEventOf<"agent.tool_use">,
  context: EffectContext,
  signal: AbortSignal,
): Promise<boolean> {
  const { view, deps } = context;
  const tool = threadTools(view, deps).find(
    ({ definition }) => definition.name === call.public.name,
  );
  const sources = tool?.runBy === "hands" ? tool.web?.urlSources : undefined;
  const { url } = call.public.input;
  if (sources === undefined || sources === null || typeof url !== "string") return false;
  const canonical = canonicalUrl(url);
  if (canonical === undefined) return false;
  const search = new UrlSearch(canonical, sources);
  for (let before = call.seq, searched = 0; searched < SEARCHED_EVENTS_MAX; ) {
    signal.throwIfAborted();
    const page = await deps.store.events.getEvents(view.key, {
      before,
      types: SOURCE_TYPES,
      threadId: view.session.thread_id,
      order: "desc",
      limit: PAGE_EVENTS,
    });
    if (page.some((event) => search.isFoundIn(event))) return false;
    const oldest = page.at(-1);
    if (oldest === undefined || search.charsRead > SEARCHED_CHARS_MAX) return true;
    searched += page.length;
    before = oldest.seq;
  }
  return true;
}
