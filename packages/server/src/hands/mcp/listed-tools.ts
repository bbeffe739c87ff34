import type { McpToolLeftOut, McpToolListed } from "../../core/ports/mcp-servers.ts";
import { isRecord } from "../../lib/is-record.ts";
import { isDeeperThan } from "../../lib/json-depth.ts";
import { TOOL_NAME_MAX } from "../protocol/messages.ts";
import { tamedSchema } from "./tamed-schema.ts";

/** Of one server. */
export const TOOLS_MAX = 256;
/** Characters of all definitions of one server as JSON. */
const DEFINITIONS_LENGTH_MAX = 1024 * 1024;
const DESCRIPTION_LENGTH_MAX = 10_000;
/** Characters of a name in a message. */
const SHOWN_MAX = 80;
const LEFT_OUT_MAX = 100;
const DEPTH_MAX = 64;

/** Takes what a server says of its tools, one after another; what is wrong with one concerns no other. */
export class ListedTools {
  readonly #tools = new Map<string, McpToolListed>();
  readonly #leftOut: McpToolLeftOut[] = [];
  readonly #masked: <T>(value: T) => T;
  #length = 0;

  /** `masked` takes out of what a server says what is not to be kept. */
  constructor(masked: <T>(value: T) => T) {
    this.#masked = masked;
  }

  get isFull(): boolean {
    return this.#tools.size >= TOOLS_MAX || this.#leftOut.length >= LEFT_OUT_MAX;
  }

  get tools(): readonly McpToolListed[] {
    return [...this.#tools.values()];
  }

  get leftOut(): readonly McpToolLeftOut[] {
    return this.#leftOut;
  }

  take(given: unknown): void {
    const isDeep = isDeeperThan(given, DEPTH_MAX);
    const tool = isDeep ? "is too deep" : listed(this.#masked(given));
    if (typeof tool === "string") this.leaveOut(this.#masked(nameIn(given)), tool);
    else this.#add(tool);
  }

  /** `reason` is a phrase: the tool … */
  leaveOut(name: string, reason: string): void {
    if (this.#leftOut.length >= LEFT_OUT_MAX) return;
    this.#leftOut.push({ name: shown(name), reason });
  }

  #add(tool: McpToolListed): void {
    const { length } = JSON.stringify(tool);
    if (this.#tools.has(tool.name)) this.leaveOut(tool.name, "has the name of another one");
    else if (this.#tools.size >= TOOLS_MAX) this.leaveOut(tool.name, "is one too many");
    else if (this.#length + length > DEFINITIONS_LENGTH_MAX) {
      this.leaveOut(tool.name, "does not fit, together with the others");
    } else {
      this.#length += length;
      this.#tools.set(tool.name, tool);
    }
  }
}

function listed(given: unknown): McpToolListed | string {
  if (!isRecord(given)) return "is no object";
  const { name, description, inputSchema } = given;
  if (typeof name !== "string" || name === "") return "has no name";
  if (name.length > TOOL_NAME_MAX) return `has a name of over ${TOOL_NAME_MAX} characters`;
  if (!name.isWellFormed()) return "has a name that is no text";
  const input_schema = tamedSchema(inputSchema);
  if (typeof input_schema === "string") return input_schema;
  return { name, description: described(description), input_schema };
}

function described(description: unknown): string {
  if (typeof description !== "string") return "";
  const text = description.trim();
  if (text.length <= DESCRIPTION_LENGTH_MAX) return text.toWellFormed();
  return `${text.slice(0, DESCRIPTION_LENGTH_MAX).toWellFormed()} […]`;
}

function nameIn(given: unknown): string {
  return isRecord(given) && typeof given["name"] === "string" ? given["name"] : "";
}

function shown(name: string): string {
  const text = name.length > SHOWN_MAX ? `${name.slice(0, SHOWN_MAX)}…` : name;
  return text.toWellFormed();
}
