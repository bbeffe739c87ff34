import { requirements } from "../requirement.ts";

/** What `web_fetch` and `web_search` do in a session (3.1, 6.4). */
export const webTools = requirements({
  "web.fetch.result": ["3.1", "web_fetch is answered with what is at its URL."],
  "web.fetch.networking": [
    "4",
    "Web tools are not governed by the networking of the session's environment.",
  ],
  "web.fetch.redirects": ["3.1", "Redirects of web_fetch are followed to what may be fetched."],
  "web.fetch.error": [
    "3.1",
    "What cannot be fetched is a result with is_error, and the turn goes on.",
  ],
  "web.fetch.allowed": [
    "3.1",
    "A URL outside of allowed_domains is a result with is_error that names url_not_allowed; one inside is fetched.",
  ],
  "web.fetch.blocked": [
    "3.1",
    "A URL inside of blocked_domains is a result with is_error that names url_not_allowed; one outside is fetched.",
  ],
  "web.fetch.redirects-blocked": [
    "3.1",
    "A redirect to a domain that may not be fetched is refused like the domain.",
  ],
  "web.fetch.private": ["3.1", "Addresses of the server's own network are not fetched."],
  "web.fetch.tokens": ["3.1", "Text beyond max_content_tokens is left out."],
  "web.fetch.too-large": ["3.1", "What is too large is a result that names content_too_large."],
  "web.fetch.ask": ["3.1", "A web tool under always_ask waits for its confirmation."],
  "web.fetch.disabled": ["3.1", "A web tool that is disabled is not run."],
  "web.sources.user": [
    "3.1",
    "With url_sources a URL of a user's message is fetched, unless user_input is none.",
  ],
  "web.sources.unseen": ["3.1", "With url_sources a URL that never came up is not fetched."],
  "web.sources.null": ["3.1", "Without url_sources any URL is fetched."],
  "web.sources.server": [
    "3.1",
    "With url_sources a URL of a web tool's result is fetched, unless server_tool_results leave it out.",
  ],
  "web.search.result": ["3.1", "web_search is answered by the server, with or without results."],
  "web.usage": [
    "5.2",
    "usage.server_tool_use counts the requests of web tools, and is absent or null before.",
  ],
});
