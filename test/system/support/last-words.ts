import {
  type Answer,
  answer,
  failing,
  type Json,
  type JudgedCall,
  judgedCallOf,
  type MessagesRequest,
} from "@drover/testing";

const SCRIPT = "#script ";
const REPEAT = /^#repeat (.) (\d+)$/;

/** What is said to be at an address with this in it cannot be fetched, which is found out by every request. */
export const UNREACHABLE = "//unreachable.example/";
const NOT_FETCHED = failing({
  type: "status",
  status: 400,
  error_type: "invalid_request_error",
  message: "messages.0.content.0.image.source.url: Unable to download the file",
});

/** An answer that may be held back by its test. */
interface ScriptedAnswer extends Answer {
  readonly held?: string;
}

/** What each answer that is held back waits for, by name. */
const held = new Map<string, Promise<void>>();

/** The answer is given once it is let go: however long the test takes for what has to come before. */
export function holdBack(answer: Answer): {
  readonly answer: ScriptedAnswer;
  readonly letGo: () => void;
} {
  const { promise, resolve } = Promise.withResolvers<void>();
  const name = `answer ${held.size}`;
  held.set(name, promise);
  return { answer: { ...answer, held: name }, letGo: resolve };
}

/** A message that makes the double answer so, one answer a request, and then `done`. */
export function script(...answers: readonly ScriptedAnswer[]): string {
  return SCRIPT + JSON.stringify(answers);
}

/** In a script: so much text as would be too much for the message that holds the script. */
export function repeated(character: string, times: number): string {
  return `#repeat ${character} ${times}`;
}

/**
 * The behaviour of the double: it follows the user's newest text alone, however many messages of
 * failed or interrupted turns stand before it. That text is a `script`, or is repeated. A fault with
 * `times` happens so often to the same conversation.
 */
export function lastWords(): (request: MessagesRequest) => Answer | Promise<Answer> {
  const attempts = new Map<string, number>();
  return (request) => {
    const next = nextAnswer(request, attempts);
    const isLetGo = held.get(next.held ?? "");
    return isLetGo === undefined ? next : isLetGo.then(() => next);
  };
}

function nextAnswer(request: MessagesRequest, attempts: Map<string, number>): ScriptedAnswer {
  const judged = judgedCallOf(request);
  if (judged !== undefined) return verdict(judged);
  if (JSON.stringify(request.body["messages"]).includes(UNREACHABLE)) return NOT_FETCHED;
  const { text, answered } = newestText(request);
  if (!text.startsWith(SCRIPT)) return answer(`You said: ${text}`);
  const answers: readonly ScriptedAnswer[] = JSON.parse(text.slice(SCRIPT.length), unfold);
  const step = answers[answered];
  if (step?.fault?.times === undefined) return step ?? answer("done");
  const conversation = JSON.stringify(request.body["messages"]);
  const attempt = (attempts.get(conversation) ?? 0) + 1;
  attempts.set(conversation, attempt);
  const { fault, ...proper } = step;
  return attempt <= (fault.times ?? 0) ? step : proper;
}

function unfold(_key: string, value: unknown): unknown {
  const [, character = "", times] = REPEAT.exec(String(value)) ?? [];
  return times === undefined ? value : character.repeat(Number(times));
}

/** As a judge it goes by the word in the call: `# allow`, `# deny` or `# ask` at its end. */
function verdict({ input }: JudgedCall): Answer {
  const [, word = "nothing"] = /# (\w+)$/.exec(String(input["command"])) ?? [];
  return answer(JSON.stringify({ verdict: word, reason: "The call says so." }));
}

/** What the harness says by itself to a model whose answer brought its turn no further. */
const NOTE = /^(Go on\.$|Your last answer )/;
/** An empty answer is not in the conversation: only the note tells of it. */
const EMPTY_NOTE = /^Your last answer was empty/;

/** The last text block of the user that is no note, and how many responses have followed it. */
function newestText({ body }: MessagesRequest): { text: string; answered: number } {
  let answered = 0;
  for (const message of list(body["messages"]).toReversed()) {
    const role = member(message, "role");
    if (role === "assistant") answered += 1;
    else if (role === "user") {
      const texts = textsOf(member(message, "content"));
      const last = texts.findLastIndex((text) => !NOTE.test(text));
      answered += texts.slice(last + 1).filter((text) => EMPTY_NOTE.test(text)).length;
      if (last >= 0) return { text: texts[last] ?? "", answered };
    }
  }
  return { text: "", answered };
}

function textsOf(content: Json | undefined): readonly string[] {
  // Chat completions take a plain string, also as a tool's result, which is no text of the user.
  if (typeof content === "string") return [content];
  return list(content)
    .filter((block) => member(block, "type") === "text")
    .map((block) => String(member(block, "text")));
}

function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function member(value: Json | undefined, name: string): Json | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? Reflect.get(value, name)
    : undefined;
}
