import { isRecord } from "../../lib/is-record.ts";
import { UNSIGNED } from "../provider.ts";
import { StreamError } from "../response-builder.ts";
import { endOf } from "./finish-reason.ts";
import type { StreamEvent } from "./stream-event.ts";
import { ToolCalls } from "./tool-calls.ts";
import { usageOf } from "./usage.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * Tells the chunks of a chat completion as the events of a Messages stream, so that one builder knows
 * both. Servers differ in all that is not the text itself: nothing but a shape is relied upon.
 */
export class ChunkEvents {
  readonly #calls: ToolCalls;
  #blocks = 0;
  /** The block that deltas of its kind go on with. */
  #open: { kind: "text" | "thinking"; index: number } | undefined;
  #finishReason: string | undefined;
  #refusal = "";
  #id: string | undefined;

  /** `nameOf` gives a tool's own name for the one it was sent under. */
  constructor(nameOf: (sentName: string) => string) {
    this.#calls = new ToolCalls(nameOf, () => this.#newBlock());
  }

  /** The server's own name for the response, where it gives one. */
  get id(): string | undefined {
    return this.#id;
  }

  /** Throws `StreamError` if the chunk tells that the server gave up. */
  take(chunk: unknown): readonly StreamEvent[] {
    const { choices, usage, object, message, id } = record(chunk);
    this.#id ??= text(id) || undefined;
    // Told without an `error` around it by some.
    if (object === "error") throw new StreamError(`The model's server gave up: ${said(message)}`);
    const counts = usageOf(record(usage));
    const told = counts === undefined ? [] : [{ type: "message_delta", delta: {}, usage: counts }];
    const choice = record(Array.isArray(choices) ? choices[0] : undefined);
    if (typeof choice["finish_reason"] === "string" && choice["finish_reason"] !== "") {
      this.#finishReason = choice["finish_reason"];
    }
    // A whole message comes from a server that does not stream.
    return [...this.#delta(record(choice["delta"] ?? choice["message"])), ...told];
  }

  /** What is left to tell when no chunk comes any more. Throws `StreamError` if it ended early. */
  end(stream: { sawDone: boolean }): readonly StreamEvent[] {
    if (this.#finishReason === undefined && !stream.sawDone) {
      throw new StreamError("The model's response ended early.");
    }
    const end = endOf(this.#finishReason, {
      hasCalls: this.#calls.count > 0,
      refusal: this.#refusal,
    });
    return [
      ...this.#calls.events(),
      { type: "message_delta", delta: end },
      { type: "message_stop" },
    ];
  }

  #delta(delta: Fields): readonly StreamEvent[] {
    // Both names hold the same where both are there.
    const thinking = text(delta["reasoning_content"]) || text(delta["reasoning"]);
    const { content, tool_calls: calls } = delta;
    const refusal = text(delta["refusal"]);
    this.#refusal += refusal;
    const events: readonly StreamEvent[] = [
      ...this.#say("thinking", thinking),
      ...this.#content(content),
      ...this.#say("text", refusal),
    ];
    if (Array.isArray(calls) && calls.length > 0) {
      this.#open = undefined;
      for (const call of calls) this.#calls.take(record(call));
    }
    return events;
  }

  /** A string, or parts of text and thinking. */
  #content(content: unknown): readonly StreamEvent[] {
    if (!Array.isArray(content)) return this.#say("text", text(content));
    return content.map(record).flatMap((part) => {
      if (part["type"] !== "thinking") return this.#say("text", text(part["text"]));
      const { thinking } = part;
      const pieces = Array.isArray(thinking) ? thinking.map((it) => text(record(it)["text"])) : [];
      return this.#say("thinking", pieces.join("") || text(thinking));
    });
  }

  #say(kind: "text" | "thinking", value: string): readonly StreamEvent[] {
    if (value === "") return [];
    const isOpen = this.#open?.kind === kind;
    const open = isOpen && this.#open ? this.#open : { kind, index: this.#newBlock() };
    this.#open = open;
    const delta =
      kind === "text"
        ? { type: "text_delta", text: value }
        : { type: "thinking_delta", thinking: value };
    const event = { type: "content_block_delta", index: open.index, delta };
    if (isOpen) return [event];
    const block =
      kind === "text"
        ? { type: "text", text: "" }
        : { type: "thinking", thinking: "", signature: UNSIGNED };
    return [{ type: "content_block_start", index: open.index, content_block: block }, event];
  }

  #newBlock(): number {
    this.#blocks += 1;
    return this.#blocks - 1;
  }
}

function record(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function said(message: unknown): string {
  return text(message) || "it did not say why";
}
