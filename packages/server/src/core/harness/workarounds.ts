/**
 * A way around a weakness of some models. None of them is needed for a conversation to be one that
 * the API takes: those rules have no switch. When the last model that needs one is gone, it goes too.
 */
export interface Workaround {
  readonly name: string;
  /** What it does, as the documentation tells it. */
  readonly does: string;
  /** The weakness that it is for. */
  readonly why: string;
  /** The ids of the models it is for. */
  readonly models: RegExp;
}

/** Every workaround of the loop. A new one is a row here and one question to `worksAround`. */
export const WORKAROUNDS = [
  {
    name: "effort_left_out",
    does: "Leaves the agent's effort out of the request.",
    why: "Older models refuse a request that names one.",
    models: /haiku-4|sonnet-4-[0-5]|opus-4-[01]|claude-3/,
  },
  {
    name: "prompt_cache",
    does: "Marks the ends of the tools, of the system prompt and of the last two user messages for the prompt cache.",
    why: "An API with a prompt cache keeps only what is marked; one without it leaves the marks out.",
    models: /(?:)/,
  },
  {
    name: "unreadable_input_answered",
    does: "Answers a call whose input is not a JSON object with an error that says so.",
    why: "Small models send such inputs; without this the request fails and is made again.",
    models: /(?:)/,
  },
  {
    name: "cut_call_repeated",
    does: "Asks the model to go on in smaller steps when its limit of tokens cut a tool call off.",
    why: "Models begin calls that do not fit into one answer; without this the turn ends there.",
    models: /(?:)/,
  },
  {
    name: "empty_answer_repeated",
    does: "Asks the model once more when its answer has neither text nor a call, and then ends the turn with an error.",
    why: "Models end a turn without a word, most often after a tool's result; without this the turn ends there.",
    models: /(?:)/,
  },
  {
    name: "compaction",
    does: "Replaces the older part of a conversation by a summary when the next request would not fit.",
    why: "A model reads only so much at once, and refuses a prompt that is longer.",
    models: /(?:)/,
  },
  {
    name: "refused_media_withheld",
    does: "Puts a sentence in the place of an image or a document that the API refuses, and asks again.",
    why: "What only the API can judge, such as an image at a URL, would fail every later turn as well.",
    models: /(?:)/,
  },
] as const satisfies readonly Workaround[];

export type WorkaroundName = (typeof WORKAROUNDS)[number]["name"];

/** True if the workaround is to be used for the model: it is for it, and nobody has switched it off. */
export function worksAround(
  policies: { readonly off: ReadonlySet<WorkaroundName> },
  name: WorkaroundName,
  modelId: string,
): boolean {
  const { models }: Workaround = workaround(name);
  return !policies.off.has(name) && models.test(modelId);
}

export const WORKAROUND_NAMES: readonly WorkaroundName[] = WORKAROUNDS.map(({ name }) => name);

function workaround(name: WorkaroundName): Workaround {
  const found = WORKAROUNDS.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no workaround ${name}`);
  return found;
}
