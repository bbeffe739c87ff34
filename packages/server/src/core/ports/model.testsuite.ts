import { describe, expect, onTestFinished, test } from "vitest";
import type {
  Model,
  ModelBlock,
  ModelFailureKind,
  ModelMessage,
  ModelObserver,
  ModelOutcome,
  ModelRequest,
} from "./model.ts";

/** What a model under test is to answer. */
export interface WantedAnswer {
  readonly think?: string;
  readonly say?: string;
  readonly calls?: readonly { name: string; input: Readonly<Record<string, unknown>> }[];
  /** Before each delta; an hour, where the answer is to be still under way when it is aborted. */
  readonly delayMs?: number;
  readonly fail?: Exclude<ModelFailureKind, "aborted">;
}

export interface ModelFixture {
  readonly model: Model;
  /** A request that is given these answers, each once the one before it is in the messages. */
  request(answers: readonly WantedAnswer[]): ModelRequest;
  close(): Promise<void>;
}

type Seen = readonly ["start", number, string] | readonly ["text", number, string];

class Recorder implements ModelObserver {
  readonly seen: Seen[] = [];
  #onSeen: (() => void) | undefined;

  blockStarted(index: number, type: string): void {
    this.#see(["start", index, type]);
  }

  textDelta(index: number, text: string): void {
    this.#see(["text", index, text]);
  }

  textOf(index: number): string {
    return this.seen.flatMap((it) => (it[0] === "text" && it[1] === index ? [it[2]] : [])).join("");
  }

  /** Resolves when the first thing is seen. */
  async first(): Promise<void> {
    if (this.seen.length > 0) return;
    await new Promise<void>((resolve) => {
      this.#onSeen = resolve;
    });
  }

  #see(seen: Seen): void {
    this.seen.push(seen);
    this.#onSeen?.();
  }
}

const HOUR_MS = 60 * 60_000;

/** The contract of `Model`, run by the test of every implementation. */
export function testModel(open: () => Promise<ModelFixture>): void {
  const start = async () => {
    const fixture = await open();
    onTestFinished(() => fixture.close());
    const ask = async (request: ModelRequest, recorder = new Recorder()) =>
      fixture.model.respond(request, recorder, new AbortController().signal);
    return { ...fixture, model: fixture.model, request: fixture.request.bind(fixture), ask };
  };

  describe("Model", () => {
    test("answers with whole blocks in order, and shows text while it is made", async () => {
      const { ask, request } = await start();
      const recorder = new Recorder();
      const said = "A sentence that is long enough to come in several pieces, with an ä and a 😀.";
      const outcome = responseOf(await ask(request([{ think: "Hm.", say: said }]), recorder));
      expect(outcome.blocks).toMatchObject([
        { type: "thinking", thinking: "Hm.", signature: expect.any(String) },
        { type: "text", text: said },
      ]);
      expect(outcome.stop_reason).toBe("end_turn");
      expect(recorder.seen.filter(([kind]) => kind === "start")).toEqual([
        ["start", 0, "thinking"],
        ["start", 1, "text"],
      ]);
      expect(recorder.textOf(1)).toBe(said);
      expect(recorder.textOf(0)).toBe("");
      expect(recorder.seen.length).toBeGreaterThan(3);
      expect(recorder.seen.findIndex(([kind]) => kind === "text")).toBeGreaterThan(
        recorder.seen.findIndex(([kind, index]) => kind === "start" && index === 1),
      );
    });

    test("asks for tools with parsed inputs and an id of its own for each", async () => {
      const { ask, request } = await start();
      const input = { command: 'echo "a\\b" \n # ü 😀', deep: { list: [1, null, true, "x"] } };
      const calls = [
        { name: "bash", input },
        { name: "read", input: {} },
      ];
      const outcome = responseOf(await ask(request([{ say: "Now:", calls }])));
      expect(outcome.stop_reason).toBe("tool_use");
      expect(outcome.blocks).toMatchObject([
        { type: "text", text: "Now:" },
        { type: "tool_use", name: "bash", input },
        { type: "tool_use", name: "read", input: {} },
      ]);
      const ids = outcome.blocks.slice(1).map((block) => block["id"]);
      expect(new Set(ids).size).toBe(2);
      expect(ids.every((id) => typeof id === "string" && /^[\w-]+$/.test(id))).toBe(true);
    });

    test("goes on from its own answer given back with the results of its tools", async () => {
      const { ask, request } = await start();
      const script = [
        { think: "First a look.", calls: [{ name: "bash", input: { command: "ls" } }] },
        { say: "Seen." },
      ];
      const first = request(script);
      const answer = responseOf(await ask(first));
      const again = { ...first, messages: [...first.messages, ...withResults(answer.blocks)] };
      const outcome = responseOf(await ask(again));
      expect(outcome.blocks).toMatchObject([{ type: "text", text: "Seen." }]);
      expect(outcome.stop_reason).toBe("end_turn");
    });

    test("counts tokens, more of them for more text", async () => {
      const { ask, request } = await start();
      const short = responseOf(await ask(request([{ say: "a" }]))).usage;
      const long = responseOf(await ask(request([{ say: "many words ".repeat(100) }]))).usage;
      expect(short.input_tokens).toBeGreaterThan(0);
      expect(long.output_tokens).toBeGreaterThan(Number(short.output_tokens));
    });

    test.each<[WantedAnswer["fail"] & string, boolean]>([
      ["overloaded", true],
      ["rate_limited", true],
      ["billing", false],
      ["connection", true],
      ["request_failed", false],
      ["prompt_too_long", false],
    ])("tells a failure of the kind %s by its outcome", async (fail, retryable) => {
      const { ask, request } = await start();
      const outcome = await ask(request([{ say: "never said", fail }]));
      expect(outcome).toMatchObject({ type: "failure", kind: fail, retryable });
      expect(outcome.type === "failure" && outcome.message.length > 10).toBe(true);
    });

    test("an aborted signal ends it at once, before anything was sent", async () => {
      const { model, request } = await start();
      const recorder = new Recorder();
      const outcome = await model.respond(request([{ say: "x" }]), recorder, AbortSignal.abort());
      expect(outcome).toMatchObject({ type: "failure", kind: "aborted", retryable: false });
      expect(recorder.seen).toEqual([]);
    });

    test("an abort in the middle ends it at once, and nothing is shown after it", async () => {
      const { model, request } = await start();
      const recorder = new Recorder();
      const controller = new AbortController();
      const slow = request([
        { say: "A sentence of several pieces for certain.", delayMs: HOUR_MS },
      ]);
      const asked = model.respond(slow, recorder, controller.signal);
      await recorder.first();
      controller.abort();
      const seen = recorder.seen.length;
      expect(await asked).toMatchObject({ type: "failure", kind: "aborted", retryable: false });
      expect(recorder.seen).toHaveLength(seen);
    });

    test("keeps responses at the same time apart, and lets one be aborted alone", async () => {
      const { model, request, ask } = await start();
      const controller = new AbortController();
      const stuck = new Recorder();
      const aborted = model.respond(
        request([{ say: "This one is stuck in its pieces.", delayMs: HOUR_MS }]),
        stuck,
        controller.signal,
      );
      await stuck.first();
      const outcomes = await Promise.all(
        ["one", "two", "three"].map((say) => ask(request([{ say }]))),
      );
      expect(outcomes.map((outcome) => responseOf(outcome).blocks)).toMatchObject([
        [{ text: "one" }],
        [{ text: "two" }],
        [{ text: "three" }],
      ]);
      controller.abort();
      expect(await aborted).toMatchObject({ kind: "aborted" });
    });
  });
}

/** The response, or a failed test that says what came instead. */
export function responseOf(outcome: ModelOutcome): Extract<ModelOutcome, { type: "response" }> {
  if (outcome.type === "response") return outcome;
  throw new Error(`not a response: ${JSON.stringify(outcome)}`);
}

/** An answer as the assistant's message, and after it the results that its tool uses need. */
export function withResults(
  blocks: readonly ModelBlock[],
  result: (toolUse: ModelBlock) => string = () => "ok",
): readonly ModelMessage[] {
  const results = blocks
    .filter((block) => block.type === "tool_use")
    .map((block) => ({
      type: "tool_result",
      tool_use_id: block["id"],
      content: [{ type: "text", text: result(block) }],
    }));
  const answered: ModelMessage = { role: "assistant", content: blocks };
  return results.length === 0 ? [answered] : [answered, { role: "user", content: results }];
}
