import { type SearchFlavour, startSearchProvider } from "@drover/testing";
import { expect, test } from "vitest";
import { testWebSearch } from "../../core/ports/web-search.testsuite.ts";
import { openEgress } from "../../egress/open-egress.ts";
import { Secret } from "../../lib/secret.ts";
import { openWebSearch } from "./open-web-search.ts";

async function open(provider: SearchFlavour, options: { key?: string } = {}) {
  const double = await startSearchProvider(provider);
  const key = new Secret(options.key ?? double.key);
  const search = openWebSearch({ provider, url: double.url, key }, openEgress(["127.0.0.1"]));
  return { double, search };
}

const PROVIDERS = ["searxng", "brave", "tavily"] as const;

for (const provider of PROVIDERS) {
  testWebSearch(provider, async () => {
    const { double, search } = await open(provider);
    return {
      search,
      key: double.key,
      find: (pages) => {
        double.found = pages;
      },
      answerWith: (answer) => {
        double.override = (_, response) => {
          answer(response);
          return true;
        };
      },
      queries: () => double.seen.map(double.queryOf),
      problems: () => double.problems,
      [Symbol.asyncDispose]: () => double[Symbol.asyncDispose](),
    };
  });

  test(`${provider}: a wrong key is refused by the provider`, async () => {
    const { double, search } = await open(provider, { key: "another-key-altogether" });
    await using _ = double;
    const outcome = await search.search({ query: "x", limit: 1 }, new AbortController().signal);
    expect(outcome).toMatchObject({ message: expect.stringContaining("DROVER_SEARCH_API_KEY") });
  });
}

test("domains and places go to whoever takes them", async () => {
  const request = {
    query: "trees",
    limit: 5,
    allowedDomains: ["a.example", "b.example"],
    location: { type: "approximate", country: "DE", city: "Köln" },
  } as const;
  const asked = await Promise.all(
    PROVIDERS.map(async (provider) => {
      const { double, search } = await open(provider);
      await using _ = double;
      await search.search(request, new AbortController().signal);
      return double.seen[0];
    }),
  );
  const [searxng, brave, tavily] = asked;
  expect(searxng?.url.searchParams.get("q")).toBe("trees (site:a.example OR site:b.example)");
  expect(brave?.url.searchParams.get("q")).toBe("trees (site:a.example OR site:b.example)");
  expect(brave?.headers).toMatchObject({ "x-loc-country": "DE", "x-loc-city": "Koln" });
  expect(JSON.parse(tavily?.body ?? "")).toEqual({
    query: "trees",
    max_results: 5,
    search_depth: "basic",
    include_domains: ["a.example", "b.example"],
    country: "germany",
  });
});
