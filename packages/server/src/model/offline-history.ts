import type { ModelBlock, ModelMessage, ModelRequest } from "../core/ports/model.ts";
import { parseScript, type ScriptStep, takeScript } from "./offline-script.ts";
import type { TemplateValues } from "./offline-template.ts";

const SUMMARY_CHARS_MAX = 8_000;
const SUMMARY_LINE_CHARS = 400;

/** Where a conversation stands in its script. */
export interface ScriptPosition {
  readonly steps: readonly ScriptStep[];
  /** The step to answer with; beyond the last if the script is used up. */
  readonly step: number;
  /** The messages since the script began. */
  readonly since: readonly ModelMessage[];
}

/**
 * Which script governs the next response, and which of its steps is due, from the request alone, so
 * that any process can go on. The newest script in a user message does, until its steps are used up;
 * then, or without one, the script of the system prompt, which begins anew with each message that
 * starts a turn. Throws `ScriptError` if that script makes no sense.
 */
export function scriptPosition({ messages, system }: ModelRequest): ScriptPosition | undefined {
  const turnStart = messages.findLastIndex((message) => isUser(message) && !hasResults(message));
  const own = userScript(messages);
  const isOwnTurn = own?.at === turnStart;
  if (own !== undefined && (isOwnTurn || own.position.step < own.position.steps.length)) {
    return own.position;
  }
  const text = takeScript(textOf(system)).script;
  if (text === undefined) return own?.position;
  return positionOf(text, messages.slice(turnStart + 1));
}

/** What the templates of a script can speak of. */
export function templateValues(
  { steps, since }: ScriptPosition,
  messages: readonly ModelMessage[],
): TemplateValues {
  const texts = resultTexts(since);
  const results: string[] = [];
  const named = new Map<string, string>();
  for (const [step, message] of since.filter(({ role }) => role === "assistant").entries()) {
    const uses = message.content.filter(({ type }) => type === "tool_use");
    for (const [place, use] of uses.entries()) {
      const result = texts.get(use["id"]) ?? "";
      results.push(result);
      const name = steps[step]?.calls[place]?.as;
      if (name !== undefined) named.set(name, result);
    }
  }
  return { results, named, user: lastUserText(messages) };
}

/** The text of the user's last message that has any, without scripts. */
export function lastUserText(messages: readonly ModelMessage[]): string {
  const last = messages.findLast((message) => isUser(message) && textOf(message.content) !== "");
  return last === undefined ? "" : takeScript(textOf(last.content)).rest;
}

/**
 * What these models say when they are asked for a summary: the beginning of every message, newest
 * first as far as there is room. Scripts are no part of it.
 */
export function summaryOf(messages: readonly ModelMessage[]): string {
  const lines: string[] = [];
  let left = SUMMARY_CHARS_MAX;
  // The last one asks for the summary.
  for (const { role, content } of messages.slice(0, -1).toReversed()) {
    const text = takeScript(textOf(content)).rest.replaceAll(/\s+/g, " ");
    if (text === "") continue;
    const line = `${role}: ${text.slice(0, SUMMARY_LINE_CHARS).toWellFormed()}`;
    left -= line.length;
    if (left < 0) break;
    lines.unshift(line);
  }
  return lines.join("\n") || "Nothing was said.";
}

function userScript(messages: readonly ModelMessage[]) {
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at];
    if (message === undefined || !isUser(message)) continue;
    const text = takeScript(textOf(message.content)).script;
    if (text !== undefined) return { at, position: positionOf(text, messages.slice(at + 1)) };
  }
  return undefined;
}

function positionOf(text: string, since: readonly ModelMessage[]): ScriptPosition {
  const step = since.filter(({ role }) => role === "assistant").length;
  return { steps: parseScript(text), step, since };
}

/** Texts of results by the id of their tool use. What a sandbox printed is never read as a script. */
function resultTexts(messages: readonly ModelMessage[]): ReadonlyMap<unknown, string> {
  const texts = new Map<unknown, string>();
  for (const { content } of messages) {
    for (const block of content) {
      if (block.type === "tool_result") texts.set(block["tool_use_id"], resultText(block));
    }
  }
  return texts;
}

function resultText(result: ModelBlock): string {
  const content = result["content"];
  if (typeof content === "string") return content;
  return Array.isArray(content) ? textOf(content) : "";
}

function textOf(blocks: readonly ModelBlock[]): string {
  return blocks
    .filter(({ type, text }) => type === "text" && typeof text === "string")
    .map((block) => String(block["text"]))
    .join("\n");
}

function isUser({ role }: ModelMessage): boolean {
  return role === "user";
}

function hasResults({ content }: ModelMessage): boolean {
  return content.some(({ type }) => type === "tool_result");
}
