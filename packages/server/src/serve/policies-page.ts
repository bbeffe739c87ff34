import { WORKAROUNDS } from "../core/harness/workarounds.ts";

/** The workarounds as a page of Markdown, so that the documentation cannot differ from the program. */
export function policiesPage(): string {
  return [
    "# Policies",
    "",
    "<!-- Generated from packages/server/src/core/harness/workarounds.ts; `vitest run policies-page -u` writes it. -->",
    "",
    "Some models have weaknesses that others do not have, and each is worked around by a policy with a",
    "name. One that is no longer wanted is switched off by the setting `DROVER_POLICIES_OFF`, all of them",
    "by `all`. Without any of them a session still survives whatever is killed, and still ends every turn.",
    "",
    "| Policy | What it does | Why | Models |",
    "|---|---|---|---|",
    ...WORKAROUNDS.map(
      ({ name, does, why, models }) => `| \`${name}\` | ${does} | ${why} | ${modelsText(models)} |`,
    ),
    "",
    "What the Messages API itself demands of a conversation has no switch, because a log without it could",
    "not be sent at all: every call has an id of its own, a name of bounded length and exactly one result",
    "directly after it; text has a visible character; no assistant message ends in thinking; a",
    "conversation with calls is sent with a tool definition; NUL and halves of surrogate pairs are",
    "replaced; a system message stands between a user's message and an answer.",
    "",
  ].join("\n");
}

function modelsText({ source }: RegExp): string {
  return source === "" || source === "(?:)" ? "all" : `\`${source.replaceAll("|", "\\|")}\``;
}
