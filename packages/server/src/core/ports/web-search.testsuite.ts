import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import type { SearchRequest, WebSearch } from "./web-search.ts";

/** A provider on loopback and the adapter that asks it. */
export interface WebSearchWorld extends AsyncDisposable {
  readonly search: WebSearch;
  readonly key: string;
  /** What every search finds. */
  find(pages: readonly { url: string; title?: string; snippet?: string; age?: string }[]): void;
  /** Answers so from now on, instead of what is right. */
  answerWith(answer: (response: ServerResponse) => void): void;
  /** The queries that arrived, also those that were not answered properly. */
  queries(): readonly string[];
  /** What the real provider would refuse of the requests so far. */
  problems(): readonly string[];
}

const REQUEST: SearchRequest = { query: "how tall is a tree", limit: 5 };

/** The contract of `WebSearch`, run by the test of every adapter. */
export function testWebSearch(name: string, open: () => Promise<WebSearchWorld>): void {
  describe(`WebSearch: ${name}`, () => {
    test("gives what was found, as plain text", async () => {
      await using world = await open();
      world.find([
        {
          url: "https://Trees.example/tall#top",
          title: "Tall <strong>trees</strong> &amp; more",
          snippet: "A <b>tree</b> is &lt;100 m.",
          age: "2 days ago",
        },
        { url: "https://b.example/", title: "B" },
      ]);
      expect(await world.search.search(REQUEST, never())).toEqual({
        type: "results",
        results: [
          {
            url: "https://trees.example/tall",
            title: "Tall trees & more",
            snippet: "A tree is <100 m.",
            age: "2 days ago",
          },
          { url: "https://b.example/", title: "B", snippet: "" },
        ],
      });
      expect([world.queries(), world.problems()]).toEqual([[REQUEST.query], []]);
    });

    test("asks properly for narrow lists and a place as well", async () => {
      await using world = await open();
      const lists = [
        { allowedDomains: ["a.example"] },
        { allowedDomains: ["a.example", "b.example/c"] },
        { allowedDomains: Array.from({ length: 64 }, (_, index) => `h${index}.example`) },
        { blockedDomains: ["a.example", "b.example/c"] },
      ];
      const location = {
        type: "approximate",
        city: "Zürich",
        country: "CH",
        region: null,
      } as const;
      for (const list of lists) {
        const found = await world.search.search({ ...REQUEST, ...list, location }, never());
        expect(found).toEqual({ type: "results", results: [] });
      }
      await world.search.search({ ...REQUEST, query: "x".repeat(1_000) }, never());
      expect([world.queries().length, world.problems()]).toEqual([5, []]);
    });

    test("leaves out what is no page, and what is more than was asked for", async () => {
      await using world = await open();
      const pages = Array.from({ length: 9 }, (_, index) => ({ url: `https://${index}.example/` }));
      world.find([{ url: "javascript:alert(1)" }, { url: "https://u:p@a.example/" }, ...pages]);
      const outcome = await world.search.search({ ...REQUEST, limit: 3 }, never());
      expect(outcome).toMatchObject({ results: pages.slice(0, 3) });
    });

    test("says that patience is asked for, that the key is refused, or that it failed, without the key", async () => {
      await using world = await open();
      const answers: readonly (readonly [number, string])[] = [
        [429, "limited"],
        [401, "failed"],
        [500, "failed"],
        [302, "failed"],
      ];
      for (const [status, type] of answers) {
        world.answerWith((response) => {
          response.writeHead(status, { location: "http://127.0.0.1:1/" }).end(world.key);
        });
        const outcome = await world.search.search(REQUEST, never());
        expect(outcome).toMatchObject({ type, message: expect.stringContaining(name) });
        expect(JSON.stringify(outcome)).not.toContain(world.key);
      }
      expect(world.queries()).toHaveLength(answers.length);
    });

    test.each([
      ["no JSON", "<html>"],
      ["another form", '{"results":5,"web":5}'],
      ["too much", `{"results":"${"x".repeat(3_000_000)}"}`],
    ])("takes %s for a failure", async (_, body) => {
      await using world = await open();
      world.answerWith((response) => void response.end(body));
      expect(await world.search.search(REQUEST, never())).toMatchObject({ type: "failed" });
    });

    test("lets no key through that is repeated in results, and ends when it is told to", async () => {
      await using world = await open();
      world.find([
        { url: `https://a.example/?${world.key}` },
        { url: "https://b.example/", title: `is ${world.key}`, snippet: world.key },
      ]);
      const found = await world.search.search(REQUEST, never());
      expect(found).toMatchObject({ results: [{ url: "https://b.example/" }] });
      expect(JSON.stringify(found)).not.toContain(world.key);
      const ending = new AbortController();
      world.answerWith(() => ending.abort());
      const outcome = await world.search.search(REQUEST, ending.signal);
      expect(outcome).toMatchObject({ type: "failed" });
    });
  });
}

function never(): AbortSignal {
  return new AbortController().signal;
}
