import { parseDocument } from "yaml";
import { InvalidRequestError } from "../core/errors.ts";
import { frontmatterOf, SKILL_DOCUMENT } from "../core/skills/manifest.ts";

/**
 * Reads the YAML at the start of SKILL.md as text, lists and mappings, whatever its scalars look like.
 * Aliases, doubled keys and what nests too deep are refused: a few bytes of them can mean a great deal.
 */
export function parseFrontmatter(text: string): unknown {
  const yaml = frontmatterOf(text);
  try {
    const document = parseDocument(yaml, {
      schema: "failsafe",
      uniqueKeys: true,
      prettyErrors: false,
      logLevel: "silent",
    });
    const [error] = document.errors;
    if (error !== undefined) throw error;
    return document.toJS({ maxAliasCount: 0 });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new InvalidRequestError(`files: the frontmatter of ${SKILL_DOCUMENT}: ${reason}`, {
      cause,
    });
  }
}
