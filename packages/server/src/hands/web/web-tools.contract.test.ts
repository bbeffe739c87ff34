import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import type { SearchOutcome, SearchRequest } from "../../core/ports/web-search.ts";
import type { WebFetchSettings, WebSearchSettings } from "../../core/tools/web-settings.ts";
import { EgressPolicy } from "../../egress/egress-policy.ts";
import { GuardedEgress } from "../../egress/guarded-egress.ts";
import { systemClock } from "../../lib/system-clock.ts";
import { PageReader } from "./page-reader.ts";
import { webTools } from "./web-tools.ts";

/** Names of the test's own; `site` is where its servers are. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  "site.example": ["127.0.0.1"],
  "www.site.example": ["127.0.0.1"],
  "other.example": ["127.0.0.1"],
  "inner.example": ["10.0.0.1"],
  "metadata.example": ["169.254.169.254"],
};

async function serve(listener: RequestListener) {
  const seen: string[] = [];
  const headers: unknown[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.headers.host?.replace(/:\d+$/, "")}${request.url}`);
    headers.push(request.headers);
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return {
    at: (path: string, host = "site.example") => `http://${host}:${port}${path}`,
    seen,
    headers,
  };
}

type Found = (request: SearchRequest) => SearchOutcome;

interface Given {
  readonly names?: typeof NAMES;
  readonly search?: Found;
  readonly retrieveMs?: number;
}

function tools({ names = NAMES, search, retrieveMs = 10_000 }: Given = {}) {
  const policy = new EgressPolicy({ allow: ["127.0.0.1"], ownAddresses: () => [] });
  const resolve = async (host: string) => {
    const found = names[host];
    if (found === undefined) throw new Error(`there is no ${host}`);
    return found.map((address) => ({ address, family: 4 }));
  };
  const all = webTools({
    egress: new GuardedEgress({ policy, resolve }),
    reader: new PageReader({ convertMs: 3_000 }),
    clock: systemClock,
    retrieveMs,
    ...(search && { search: { search: async (request) => search(request) } }),
  });
  const run = async (
    call: {
      name: string;
      input: Record<string, unknown>;
      settings?: WebFetchSettings | WebSearchSettings;
    },
    signal = new AbortController().signal,
  ) => {
    const { content, is_error } = (await all.get(call.name)?.(call, signal)) ?? { content: [] };
    const text = content.map((block) => (block.type === "text" ? block.text : "")).join("");
    return { text, isError: is_error, content };
  };
  return {
    run,
    fetch: (url: unknown, settings: Partial<WebFetchSettings> = {}, signal?: AbortSignal) =>
      run(
        {
          name: "web_fetch",
          input: { url },
          settings: { type: "web_fetch", max_content_tokens: null, ...settings },
        },
        signal,
      ),
    search: (query: unknown, settings: Partial<WebSearchSettings> = {}) =>
      run({
        name: "web_search",
        input: { query },
        settings: { type: "web_search", user_location: null, ...settings },
      }),
  };
}

const page =
  (body: string | Buffer, type = "text/html", more: Record<string, string> = {}): RequestListener =>
  (_, response) =>
    void response.writeHead(200, { "content-type": type, ...more }).end(body);

test("a page is given as text, with its title and the absolute URLs of its links", async () => {
  const html = `<html><head><title>Trees &amp; more</title><style>p{}</style></head><body><h2>Tall</h2>
    <p>See <a href="../b?c#d">the <b>oak</b></a>.</p><script>alert(1)</script>
    <ul><li>one</li><li>two</li></ul><table><tr><th>a</th><td>1</td></tr></table></body></html>`;
  const { at, seen, headers } = await serve(page(html));
  const { text, isError } = await tools().fetch(at("/x/y"));
  expect(isError).toBe(false);
  expect(text).toBe(
    [
      `URL: ${at("/x/y")}`,
      "Content-Type: text/html",
      "Title: Trees & more",
      "",
      "## Tall",
      "",
      `See the oak <${at("/b?c#d")}>.`,
      "",
      " * one",
      " * two",
      "",
      "a   1",
    ].join("\n"),
  );
  expect(seen).toEqual(["GET site.example/x/y"]);
  expect(headers[0]).not.toHaveProperty("cookie");
  expect(headers[0]).not.toHaveProperty("authorization");
});

test("text is given as it is, tamed, in the encoding it is in", async () => {
  const { at } = await serve((request, response) => {
    const cyrillic = Buffer.from([0xe4, 0xe0]);
    const answers: Record<string, RequestListener> = {
      "/json": page('{"a":1}', "application/json"),
      "/late-nul": page(`${"x".repeat(2_000)}\0`, "text/plain"),
      "/cyrillic": page(cyrillic, "text/plain; charset=windows-1251"),
      "/empty": page("", "text/plain"),
      "/gzip": page(gzipSync("packed"), "text/plain", { "content-encoding": "gzip" }),
      "/br": page(brotliCompressSync("packed"), "text/plain", { "content-encoding": "br" }),
    };
    answers[request.url ?? ""]?.(request, response);
  });
  const { fetch } = tools();
  const bodyOf = async (path: string) => (await fetch(at(path))).text.split("\n\n")[1];
  expect(await bodyOf("/json")).toBe('{"a":1}');
  expect(await bodyOf("/late-nul")).toBe(`${"x".repeat(2_000)}\uFFFD`);
  expect(await bodyOf("/cyrillic")).toBe("да");
  expect(await bodyOf("/empty")).toBe("(no text)");
  expect(await bodyOf("/gzip")).toBe("packed");
  expect(await bodyOf("/br")).toBe("packed");
});

test("images and PDFs are given as what they are, other data is not", async () => {
  const png = Buffer.from("\x89PNG\r\n\x1a\n....", "latin1");
  const { at } = await serve((request, response) => {
    const answers: Record<string, RequestListener> = {
      "/png": page(png, "image/png"),
      "/pdf": page("%PDF-1.7", "application/pdf"),
      "/zip": page("PK", "application/zip"),
      "/large": page(Buffer.concat([png, Buffer.alloc(4 * 1024 * 1024)]), "image/png"),
    };
    answers[request.url ?? ""]?.(request, response);
  });
  const { fetch } = tools();
  const data = png.toString("base64");
  expect((await fetch(at("/png"))).content).toEqual([
    { type: "text", text: `URL: ${at("/png")}\nContent-Type: image/png` },
    { type: "image", source: { type: "base64", media_type: "image/png", data } },
  ]);
  expect((await fetch(at("/pdf"))).content[1]).toMatchObject({
    type: "document",
    source: { media_type: "application/pdf" },
  });
  expect(await fetch(at("/zip"))).toMatchObject({
    isError: true,
    text: expect.stringMatching(/^web_fetch: unsupported_content_type: .*application\/zip/),
  });
  expect((await fetch(at("/large"))).text).toMatch(/^web_fetch: content_too_large: /);
});

test("text beyond max_content_tokens is left out, which is said", async () => {
  const { at } = await serve(page("ü".repeat(100_000), "text/plain; charset=utf-8"));
  const { fetch } = tools();
  const { text } = await fetch(at("/"), { max_content_tokens: 10 });
  expect(text).toContain("Shown: the first 10 of about 66667 tokens; the rest is left out.");
  expect(text.split("\n\n")[1]).toBe("ü".repeat(15));
  const whole = await fetch(at("/"), { max_content_tokens: 10_000_000 });
  expect(whole.text).not.toContain("Shown:");
  expect((await fetch(at("/"))).text).toContain("the first 25000 of");
});

test("domains that the agent's lists do not permit are not asked, also by way of a redirect", async () => {
  const { at, seen } = await serve(({ url }, response) => {
    if (url === "/away") response.writeHead(302, { location: at("/there", "other.example") }).end();
    else if (url === "/within") response.writeHead(301, { location: "/page" }).end();
    else page("hello", "text/plain")({} as never, response as never);
  });
  const { fetch } = tools();
  const allowed = { allowed_domains: ["site.example"] };
  const blocked = { blocked_domains: ["other.example"] };
  expect((await fetch(at("/page", "www.site.example"), allowed)).isError).toBe(false);
  expect((await fetch(at("/within"), allowed)).text).toContain(`URL: ${at("/page")}`);
  const before = seen.length;
  expect((await fetch(at("/x", "other.example"), allowed)).text).toMatch(
    /^web_fetch: url_not_allowed: other.example/,
  );
  expect((await fetch(at("/x", "other.example"), blocked)).text).toContain("url_not_allowed");
  expect(seen.length).toBe(before);
  for (const lists of [allowed, blocked]) {
    expect((await fetch(at("/away"), lists)).text).toMatch(/url_not_allowed.*redirects/);
  }
  expect(seen.filter((line) => line.includes("other.example"))).toEqual([]);
  expect((await fetch(at("/away"))).text).toContain(`URL: ${at("/there", "other.example")}`);
});

test.each([
  "http://10.0.0.1/",
  "http://169.254.169.254/latest/meta-data/",
  "http://[::ffff:a9fe:a9fe]/",
  "http://[::1]/",
  "http://127.0.0.2/",
  "http://metadata.example/",
  "https://inner.example/",
])("what is at no public address is refused: %s, asked for or redirected to", async (target) => {
  const { at, seen } = await serve((_, response) => {
    response.writeHead(307, { location: target }).end();
  });
  const { fetch } = tools();
  const refusal = /^web_fetch: url_not_allowed: .* public internet/;
  expect((await fetch(target)).text).toMatch(refusal);
  expect((await fetch(at("/"))).text).toMatch(refusal);
  expect(seen).toHaveLength(1);
});

test("a name that changes its address between two looks is looked at once for each request", async () => {
  const { at, seen } = await serve(page("hello", "text/plain"));
  let looks = 0;
  const rebinding = {
    get "rebind.example"() {
      looks += 1;
      return [looks === 1 ? "127.0.0.1" : "169.254.169.254"];
    },
  };
  const { fetch } = tools({ names: rebinding });
  expect((await fetch(at("/", "rebind.example"))).isError).toBe(false);
  expect((await fetch(at("/", "rebind.example"))).text).toContain("url_not_allowed");
  expect([looks, seen.length]).toEqual([2, 1]);
});

test.each([
  [undefined, "invalid_input"],
  [5, "invalid_input"],
  ["not a url", "invalid_input"],
  ["ftp://site.example/", "invalid_input"],
  ["http://user:word@site.example/", "invalid_input"],
  [`http://site.example/${"x".repeat(3_000)}`, "url_too_long"],
  ["http://nowhere.example/", "url_not_accessible"],
])("%s is answered with %s", async (url, code) => {
  const { text, isError } = await tools().fetch(url);
  expect([isError, text.split(":").slice(0, 2).join(":")]).toEqual([true, `web_fetch: ${code}`]);
});

test("what is too large, packed or not, endless, cut off, refused or in a circle is an error", async () => {
  const { at, seen } = await serve(({ url }, response) => {
    switch (url) {
      case "/large":
        return page(Buffer.alloc(6_000_000, "a"), "text/plain")({} as never, response as never);
      case "/bomb": {
        const bomb = gzipSync(Buffer.alloc(200_000_000, "a"));
        const packed = { "content-encoding": "gzip" };
        return page(bomb, "text/plain", packed)({} as never, response as never);
      }
      case "/cut":
        response.writeHead(200, { "content-type": "text/plain", "content-length": "100" });
        response.write("begun");
        return void setImmediate(() => response.destroy());
      case "/circle":
        return void response.writeHead(302, { location: "/circle" }).end();
      case "/user":
        return void response.writeHead(302, { location: "http://u:p@site.example/" }).end();
      default:
        return void response.writeHead(url === "/patience" ? 429 : 404).end();
    }
  });
  const { fetch } = tools();
  const codeOf = async (path: string) => (await fetch(at(path))).text.split(": ")[1];
  expect(await codeOf("/large")).toBe("content_too_large");
  expect(await codeOf("/bomb")).toBe("content_too_large");
  expect(await codeOf("/cut")).toBe("url_not_accessible");
  expect(await codeOf("/user")).toBe("url_not_allowed");
  expect(await codeOf("/absent")).toBe("url_not_accessible");
  expect(await codeOf("/patience")).toBe("too_many_requests");
  const before = seen.length;
  expect(await codeOf("/circle")).toBe("url_not_accessible");
  expect(seen.length - before).toBe(6);
});

test("a server that gives a byte now and then, or redirects slowly, has as long as any other", async () => {
  const dripping = new Set<NodeJS.Timeout>();
  onTestFinished(() => dripping.forEach((timer) => void clearInterval(timer)));
  const { at, seen } = await serve(({ url }, response) => {
    if (url !== "/drip") {
      const next = () => response.writeHead(302, { location: `${url}x` }).end();
      return void dripping.add(setTimeout(next, 500));
    }
    response.writeHead(200, { "content-type": "text/plain" });
    dripping.add(setInterval(() => response.write("."), 20));
  });
  const { fetch } = tools({ retrieveMs: 1_500 });
  expect((await fetch(at("/drip"))).text).toMatch(
    /^web_fetch: url_not_accessible: .* took too long/,
  );
  expect((await fetch(at("/r"))).text).toMatch(
    /^web_fetch: url_not_accessible: .* no answer within/,
  );
  expect(seen.length).toBeLessThan(6);
});

test("a server that never comes to an end is left when the call is ended", async () => {
  const ending = new AbortController();
  const { at } = await serve((_, response) => {
    response.writeHead(200, { "content-type": "text/plain" });
    response.write("drop");
    ending.abort();
  });
  const { text } = await tools().fetch(at("/"), {}, ending.signal);
  expect(text).toMatch(/^web_fetch: url_not_accessible: /);
});

test("a page that takes for ever is given up, while others are read", {
  timeout: 40_000,
}, async () => {
  const { at } = await serve(({ url }, response) => {
    const html = url === "/deep" ? "<p><a href=x>".repeat(380_000) : "<p>hello";
    page(html)({} as never, response as never);
  });
  const { fetch } = tools();
  let longestMs = 0;
  let lastMs = performance.now();
  const looking = setInterval(() => {
    longestMs = Math.max(longestMs, performance.now() - lastMs);
    lastMs = performance.now();
  }, 10);
  const [deep, short] = await Promise.all([fetch(at("/deep")), fetch(at("/"))]);
  expect(short.text).toContain("hello");
  expect(deep.text).toMatch(/^web_fetch: content_too_large: the page is too large or too deep/);
  clearInterval(looking);
  // The loop of the hands goes on all the while.
  expect(longestMs).toBeLessThan(1_000);
});

test("a call without settings, which would be without limits, is refused", async () => {
  const { run } = tools({ search: () => ({ type: "results", results: [] }) });
  const fetching: WebFetchSettings = { type: "web_fetch", max_content_tokens: null };
  const answers = [
    await run({ name: "web_fetch", input: { url: "http://site.example/" } }),
    await run({ name: "web_search", input: { query: "x" } }),
    await run({ name: "web_search", input: { query: "x" }, settings: fetching }),
  ];
  for (const { text } of answers) expect(text).toMatch(/: unavailable: the agent's settings/);
});

test("a search gives what is permitted, without the query and without a word of the rest", async () => {
  const asked: SearchRequest[] = [];
  const result = (url: string, more: object = {}) => ({ url, title: "T", snippet: "", ...more });
  const { search } = tools({
    search: (request) => {
      asked.push(request);
      return {
        type: "results",
        results: [
          result("https://a.example/1", { snippet: "First\n one.", age: "1 day" }),
          result("https://b.example/2"),
          result("https://a.example/blog/3", { title: "" }),
        ],
      };
    },
  });
  const query = "https://secret.example/of-the-model";
  const all = await search(query);
  expect(all.text).toBe(
    [
      "1. T\nURL: https://a.example/1\nAge: 1 day\nFirst one.",
      "2. T\nURL: https://b.example/2",
      "3. https://a.example/blog/3\nURL: https://a.example/blog/3",
    ].join("\n\n"),
  );
  const blocked = await search(query, { blocked_domains: ["a.example"] });
  expect(blocked.text).toBe("1. T\nURL: https://b.example/2");
  const location = { type: "approximate", country: "DE" } as const;
  const within = await search(query, {
    allowed_domains: ["a.example/blog"],
    user_location: location,
  });
  expect(within.text).toContain("1. https://a.example/blog/3");
  expect((await search(query, { allowed_domains: ["c.example"] })).text).toBe("No results.");
  expect(asked[2]).toEqual({ query, limit: 20, allowedDomains: ["a.example/blog"], location });
});

test("a search that cannot be made says why", async () => {
  expect((await tools().search("x")).text).toMatch(
    /^web_search: unavailable: .*DROVER_SEARCH_PROVIDER.*DROVER_SEARCH_URL.*DROVER_SEARCH_API_KEY/,
  );
  for (const query of [undefined, "", "  ", 5, "x".repeat(1_001)]) {
    expect((await tools().search(query)).text).toMatch(/^web_search: invalid_input: query/);
  }
  const limited = tools({ search: () => ({ type: "limited", message: "be patient" }) });
  expect(await limited.search("x")).toMatchObject({
    isError: true,
    text: "web_search: too_many_requests: be patient.",
  });
});
