import type { Query, SqlValue } from "../sql.ts";

/** Texts that are prepared on each connection. Beyond them and for longer ones it is not worth it. */
const PREPARED_MAX = 200;
const PREPARED_LENGTH_MAX = 8_000;

/** A statement as `pg` takes it; one with a name is prepared once a connection. */
export interface Statement {
  readonly text: string;
  readonly values: SqlValue[];
  readonly name?: string;
}

interface Text {
  readonly text: string;
  readonly name?: string;
}

/** By the identity of a template's strings: no text is built on the hot path. */
const fixed = new WeakMap<readonly string[], Text>();
/** The name by the text, so that a name means one text on every connection. */
const names = new Map<string, string>();

/** The query in PostgreSQL's form: values are `$1`, `$2`, … */
export function statementOf(query: Query): Statement {
  return { ...textOf(query.parts), values: query.values.map(withoutNul) };
}

/**
 * PostgreSQL refuses NUL. Nothing that is stored has one, so that what is looked for by one is not
 * found, as it should be.
 */
function withoutNul(value: SqlValue): SqlValue {
  return typeof value === "string" && value.includes("\0")
    ? value.replaceAll("\0", "\ufffd")
    : value;
}

function textOf(parts: readonly string[]): Text {
  const known = fixed.get(parts);
  if (known !== undefined) return known;
  const text = parts.reduce((before, part, index) => `${before}$${index}${part}`);
  const name = nameOf(text);
  const made = name === undefined ? { text } : { text, name };
  if ("raw" in parts) fixed.set(parts, made);
  return made;
}

function nameOf(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined) return known;
  if (names.size >= PREPARED_MAX || text.length > PREPARED_LENGTH_MAX) return undefined;
  const name = `drover_${names.size + 1}`;
  names.set(text, name);
  return name;
}
