import { isRecord } from "../../lib/is-record.ts";
import { newId } from "../../lib/new-id.ts";
import { StreamError } from "../response-builder.ts";
import type { StreamEvent } from "./stream-event.ts";

/** More are no answer of a model but a server that repeats itself. */
const CALLS_MAX = 1_000;
const USABLE_ID = /^[\w-]{1,64}$/;

type Fields = Readonly<Record<string, unknown>>;

interface Call {
  readonly block: number;
  readonly index: number | undefined;
  id: string | undefined;
  name: string;
  arguments: string;
}

/**
 * The tool calls of one response, put together from their pieces. Servers number them, or give each
 * an id, or neither; send a call in pieces, or whole; repeat its name and id with every piece, or not.
 */
export class ToolCalls {
  readonly #nameOf: (sentName: string) => string;
  readonly #newBlock: () => number;
  readonly #calls: Call[] = [];

  constructor(nameOf: (sentName: string) => string, newBlock: () => number) {
    this.#nameOf = nameOf;
    this.#newBlock = newBlock;
  }

  get count(): number {
    return this.#calls.length;
  }

  /** The name may come late, so nothing is told of a call before its end. */
  take(piece: Fields): void {
    const given = isRecord(piece["function"]) ? piece["function"] : {};
    const id = text(piece["id"]) || undefined;
    const name = text(given["name"]);
    const call = this.#callOf({ index: indexOf(piece), id, name });
    call.id ??= id;
    call.name ||= name;
    const input = given["arguments"];
    if (typeof input === "string") call.arguments += input;
    else if (isRecord(input)) call.arguments += JSON.stringify(input);
  }

  /** All calls as blocks of tool use, in the order in which they began. */
  events(): readonly StreamEvent[] {
    const taken = new Set<string>();
    return this.#calls.flatMap((call) => {
      const { block: index, id, name } = call;
      const isUsable = id !== undefined && USABLE_ID.test(id) && !taken.has(id);
      const usableId = isUsable ? id : newId("call");
      taken.add(usableId);
      const content_block = { type: "tool_use", id: usableId, name: this.#nameOf(name), input: {} };
      const delta = { type: "input_json_delta", partial_json: call.arguments };
      return [
        { type: "content_block_start", index, content_block },
        { type: "content_block_delta", index, delta },
      ];
    });
  }

  #callOf(piece: Pick<Call, "index" | "id" | "name">): Call {
    const { index, id, name } = piece;
    const known = this.#find(piece);
    if (known !== undefined) return known;
    if (this.#calls.length >= CALLS_MAX) {
      throw new StreamError(`The model's response has more than ${CALLS_MAX} tool calls.`);
    }
    const call: Call = { block: this.#newBlock(), index, id, name, arguments: "" };
    this.#calls.push(call);
    return call;
  }

  /** The call that a piece goes on with. */
  #find({ index, id, name }: Pick<Call, "index" | "id" | "name">): Call | undefined {
    if (index !== undefined) {
      const numbered = this.#calls.findLast((call) => call.index === index);
      return numbered !== undefined && isAnother(numbered, { id, name }) ? undefined : numbered;
    }
    if (id !== undefined) return this.#calls.find((call) => call.id === id);
    const last = this.#calls.at(-1);
    if (name === "") return last;
    // A name with every piece: it goes on until its arguments are whole.
    return last?.name === name && !isWhole(last.arguments) ? last : undefined;
  }
}

/** Some servers give every call the same number: another id, or a name after a whole call, tells. */
function isAnother(call: Call, { id, name }: Pick<Call, "id" | "name">): boolean {
  if (name === "") return false;
  return id !== undefined && call.id !== undefined ? id !== call.id : isWhole(call.arguments);
}

function indexOf(piece: Fields): number | undefined {
  const { index } = piece;
  return typeof index === "number" ? index : undefined;
}

function isWhole(json: string): boolean {
  try {
    JSON.parse(json);
    return true;
  } catch {
    return false;
  }
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
