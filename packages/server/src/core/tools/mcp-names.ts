import { shortHash } from "../../lib/short-hash.ts";

/** Begins the name of every MCP tool that a model is offered, and of no other tool. */
const PREFIX = "mcp__";
/** What every model's API takes. */
const USABLE = /^[a-zA-Z0-9_-]{1,64}$/;
/** Characters that are left of the two parts of a name that cannot be offered as it is. */
const SERVER_PART_MAX = 14;
const TOOL_PART_MAX = 24;

/** True for the name under which a model calls an MCP tool. */
export function isMcpToolName(name: string): boolean {
  return name.startsWith(PREFIX);
}

/**
 * The names under which a server's tools are offered to a model, each its own: `mcp__<server>__<tool>`, and a
 * shorter form with a hash where that is too long, has other characters, or could be read in two ways. They
 * follow from the two names alone, so that a tool keeps its name whatever else its server has.
 */
export function mcpToolName(server: string, tool: string): string {
  const plain = `${PREFIX}${server}__${tool}`;
  // With such a server it would not be plain where its name ends: another server may have the same name.
  const isClear = !server.includes("__") && !server.endsWith("_");
  if (isClear && USABLE.test(plain)) return plain;
  const hash = shortHash(JSON.stringify([server, tool]));
  return `${PREFIX}${part(server, SERVER_PART_MAX)}__${part(tool, TOOL_PART_MAX)}__${hash}`;
}

function part(name: string, lengthMax: number): string {
  return name.replaceAll(/[^a-zA-Z0-9-]+/g, "_").slice(0, lengthMax);
}
