import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { CERTIFICATE, CERTIFICATE_KEY } from "@drover/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testCloning } from "./repositories.testsuite.ts";
import { RepositoryWorld, type WantedRepository } from "./repository-world.testsuite.ts";

const TOKEN = "canary-of-a-repository-token";

testCloning(process.getuid?.() === 0 ? "with a kernel uid for each hand" : "rootless");

let world: RepositoryWorld;
beforeAll(async () => {
  world = await RepositoryWorld.open();
});
afterAll(() => world[Symbol.asyncDispose]());

/** What a session that wants one repository is told. */
async function problemsOf(wanted: WantedRepository) {
  const session = await world.session(wanted);
  const problems = await session.prepare();
  expect(await session.bash("ls -A /workspace")).toBe("");
  expect(world.isCloning(session.handId)).toBe(false);
  return problems;
}

test("each way not to be had has its own error, with the URL and no token", async () => {
  const { server } = world;
  server.repository("acme/guarded", { file: "guarded\n" });
  server.tokens.set("acme/guarded", { takes: TOKEN });
  server.repository("acme/forbidden", { file: "forbidden\n" });
  server.tokens.set("acme/forbidden", { takes: "another", refuses: 403 });
  server.intercept = ({ url }, response) => {
    if (url?.startsWith("/acme/gone/") !== true) return false;
    response.writeHead(404).end(`no repository for ${TOKEN}`);
    return true;
  };
  const branch = { type: "branch", name: "missing" } as const;
  const commit = { type: "commit", sha: "0123456789".repeat(4) } as const;
  const cases: readonly (readonly [WantedRepository, string, string])[] = [
    [{ name: "acme/guarded" }, "authentication", "wants a token"],
    [{ name: "acme/guarded", token: "wrong" }, "authentication", "does not take the token"],
    [{ name: "acme/forbidden", token: TOKEN }, "forbidden", "may not read it"],
    [{ name: "acme/gone", token: TOKEN }, "not_found", "is not there"],
    [{ name: "acme/guarded", token: TOKEN, checkout: branch }, "checkout", "no branch missing"],
    [{ name: "acme/guarded", token: TOKEN, checkout: commit }, "checkout", "no commit 0123"],
    [{ name: "a/b", url: "https://127.0.0.1:9/a/b" }, "clone", "could not be asked"],
    [{ name: "a/b", url: "https://10.1.2.3/a/b", token: TOKEN }, "clone", "may be dialled"],
  ];
  for (const [wanted, kind, says] of cases) {
    const url = wanted.url ?? server.url(wanted.name);
    const problems = await problemsOf(wanted);
    const message = expect.stringContaining(says);
    expect(problems).toEqual([{ url, type: `repository_${kind}_error`, message }]);
    expect(problems[0]?.message).toMatch(
      `${url} could not be cloned to /workspace/${wanted.name.split("/")[1]}: `,
    );
    expect(JSON.stringify(problems)).not.toContain(TOKEN);
  }
});

test("what failed is tried again with another token at once, with the same one after a pause", async () => {
  const { server, clock } = world;
  server.repository("acme/rotated", { file: "there\n" });
  server.tokens.set("acme/rotated", { takes: TOKEN });
  const session = await world.session({ name: "acme/rotated", token: "expired" });
  const asked = () => server.requests.length;
  expect(await session.prepare()).toHaveLength(1);
  const before = asked();
  expect([await session.prepare(), asked()]).toEqual([[], before]);
  await clock.advance(30_000);
  expect(await session.prepare()).toHaveLength(1);
  expect(asked()).toBe(before + 1);
  await clock.advance(30_000);
  expect([await session.prepare(), asked()]).toEqual([[], before + 1]);
  session.rotate(TOKEN);
  expect(await session.prepare()).toEqual([]);
  expect(await session.bash("cat rotated/file")).toBe("there");
});

test("nothing of a hostile repository is run, followed or fetched", async () => {
  const { server } = world;
  server.repository("acme/hostile", {
    ".gitattributes": "*.bin filter=lfs\n* filter=evil\n",
    "large.bin": "version https://git-lfs.github.com/spec/v1\n",
    ".githooks/post-checkout": "#!/bin/sh\ntouch /workspace/hooked\n",
    ".gitmodules": `[submodule "inner"]\n\tpath = inner\n\turl = ${server.url("acme/guarded")}\n`,
    ".gitconfig": "[core]\n\thooksPath = .githooks\n",
  });
  const git = (...args: string[]) => server.git("acme/hostile", ...args);
  const link = git("hash-object", "-w", "--", ".gitattributes");
  git("update-index", "--add", "--cacheinfo", `160000,${"ab".repeat(20)},inner`);
  git("update-index", "--add", "--cacheinfo", `120000,${link},looped`);
  git("commit", "--quiet", "--message", "Links");
  const session = await world.session({ name: "acme/hostile" });
  const asked = server.requests.length;
  expect(await session.prepare()).toEqual([]);
  expect(
    await session.bash(
      "cd hostile && ls -A; test -L looped; ls -A inner | wc -l; ls -A ..; ls .git/hooks 2>&1 | wc -l",
    ),
  ).toBe(
    [
      ".git",
      ".gitattributes",
      ".gitconfig",
      ".githooks",
      ".gitmodules",
      "inner",
      "large.bin",
      "looped",
      "0",
      "hostile",
      "1",
    ].join("\n"),
  );
  const lines = server.requests.slice(asked).map(({ line }) => line);
  expect(lines.every((line) => line.includes(" /acme/hostile/"))).toBe(true);
});

test("a renamed repository is followed on its own server, and to no other", async () => {
  const { server } = world;
  const strays: (string | undefined)[] = [];
  const elsewhere = createServer(
    { cert: CERTIFICATE, key: CERTIFICATE_KEY },
    (request, response) => {
      strays.push(request.headers.authorization);
      response.writeHead(404).end();
    },
  );
  await new Promise<void>((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
  const { port } = elsewhere.address() as AddressInfo;
  server.repository("acme/now", { file: "moved\n" });
  server.tokens.set("acme/now", { takes: TOKEN });
  const refs = "info/refs?service=git-upload-pack";
  server.intercept = ({ url }, response) => {
    const places: Readonly<Record<string, string>> = {
      "/acme/before": "/acme/now",
      "/acme/away": `https://127.0.0.1:${port}/acme/away`,
      "/acme/plain": server.url("acme/now").replace("https:", "http:"),
      "/acme/other": `${server.url("acme/now")}/info/refs?service=git-receive-pack&x=`,
    };
    const place = places[(url ?? "").replace(`/${refs}`, "")];
    if (place === undefined) return false;
    response.writeHead(301, { location: `${place}/${refs}` }).end();
    return true;
  };
  const moved = await world.session({ name: "acme/before", token: TOKEN });
  expect(await moved.prepare()).toEqual([]);
  expect(await moved.bash("cat before/file")).toBe("moved");
  for (const name of ["acme/away", "acme/plain", "acme/other"]) {
    expect(await problemsOf({ name, token: TOKEN })).toMatchObject([
      { type: "repository_clone_error", message: expect.stringContaining("not followed") },
    ]);
  }
  expect(strays).toEqual([]);
  elsewhere.close();
});

test("an answer that holds the token is cut off, and one that is no git's is not shown", async () => {
  const { server } = world;
  const refs = "application/x-git-upload-pack-advertisement";
  server.intercept = ({ url, headers }, response) => {
    if (url?.startsWith("/acme/echo/") === true) {
      const pair = Buffer.from((headers.authorization ?? "").slice(6), "base64").toString();
      response.writeHead(200, { "content-type": refs, "x-echo": pair });
      // In two parts, so that neither holds it.
      const half = pair.length - 10;
      response.write(`0000${pair.slice(0, half)}`);
      setTimeout(() => response.end(pair.slice(half)), 20);
      return true;
    }
    if (url?.startsWith("/acme/page/") !== true) return false;
    response.writeHead(200, { "content-type": "text/html" }).end(`<p>${TOKEN}</p>`);
    return true;
  };
  expect(await problemsOf({ name: "acme/echo", token: TOKEN })).toMatchObject([
    { type: "repository_clone_error", message: expect.stringContaining("sent the token back") },
  ]);
  expect(await problemsOf({ name: "acme/page", token: TOKEN })).toMatchObject([
    { type: "repository_clone_error", message: expect.stringContaining("no git server") },
  ]);
});

test("a history that is too long is left out, and files that are too many are refused", async () => {
  await using small = await RepositoryWorld.open({ fetchedBytes: 40 * 1024, files: 3 });
  const { server } = small;
  const noise = (seed: number) =>
    Array.from({ length: 30_000 }, (_, at) =>
      String.fromCharCode(33 + ((at * at * seed) % 89)),
    ).join("");
  const random = () =>
    Buffer.from(crypto.getRandomValues(new Uint8Array(30_000))).toString("base64");
  server.repository("acme/long", { file: random() });
  server.commit("acme/long", { file: random() });
  server.commit("acme/long", { file: noise(7) });
  const session = await small.session({ name: "acme/long" });
  expect(await session.prepare()).toEqual([]);
  expect(await session.bash("git -C long rev-list --count HEAD; wc -c < long/file")).toBe(
    "1\n30000",
  );
  server.repository("acme/wide", Object.fromEntries([1, 2, 3, 4].map((at) => [`file-${at}`, ""])));
  const wide = await small.session({ name: "acme/wide" });
  expect(await wide.prepare()).toMatchObject([
    { type: "repository_clone_error", message: expect.stringContaining("too many or too large") },
  ]);
});

test("cloning ends when nobody waits for it, and a later call begins anew; two that wait share one", async () => {
  const { server } = world;
  server.repository("acme/slow", { file: "slow\n" });
  const asked = Promise.withResolvers<void>();
  let isHeld = true;
  server.intercept = ({ url }) => {
    if (!isHeld || url?.startsWith("/acme/slow/") !== true) return false;
    asked.resolve();
    return true;
  };
  const session = await world.session({ name: "acme/slow" });
  const [first, second] = [new AbortController(), new AbortController()];
  const waits = [session.prepare(first.signal), session.prepare(second.signal)];
  const ends = Promise.allSettled(waits);
  await asked.promise;
  first.abort();
  await expect(waits[0]).rejects.toThrow("given up");
  expect(world.isCloning(session.handId)).toBe(true);
  second.abort();
  expect((await ends).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  isHeld = false;
  const before = server.requests.length;
  expect(await Promise.all([session.prepare(), session.prepare()])).toEqual([[], []]);
  expect(server.requests.length).toBe(before + 3);
  expect(await session.bash("cat slow/file; ls -A /workspace")).toBe("slow\nslow");
  expect(world.isCloning(session.handId)).toBe(false);
});

test("what the agent put in its place, moved or deleted is left as it is", async () => {
  const { server } = world;
  server.repository("acme/taken", { file: "theirs\n" });
  const session = await world.session({ name: "acme/taken" });
  await session.bash("mkdir taken && echo mine > taken/file");
  expect([await session.prepare(), await session.bash("cat taken/file")]).toEqual([[], "mine"]);
  server.repository("acme/deleted", { file: "theirs\n" });
  const other = await world.session({ name: "acme/deleted" });
  await other.bash("mkdir deleted");
  await other.prepare();
  await other.bash("cat deleted/file && rm -rf deleted");
  // Other hands know nothing of it.
  await world.keeper.dispose(other.handId);
  expect([await other.prepare(), await other.bash("ls -A")]).toEqual([[], ""]);
});

test("a sandbox with a gate speaks to it and to nobody else", async () => {
  const { provider } = world.sandboxes;
  const paths: string[] = [];
  const request = {
    workspaceId: "wrkspc_1",
    handId: "hand_gate",
    recipe: {
      provider: "bubblewrap",
      base: { type: "host" },
      mounts: [],
      network: { type: "unrestricted" },
    },
    gate: async ({ method, path, headers }: { method: string; path: string; headers: object }) => {
      paths.push(`${method} ${path}`);
      if (path === "/broken") throw new Error("canary of an internal error");
      const body = (async function* () {
        yield Buffer.from(`hello ${Object.keys(headers).includes("x-mine")}`);
      })();
      return { status: 200, headers: {}, body };
    },
  } as const;
  const sandbox = await provider.provision(request, new AbortController().signal);
  const chunks: Uint8Array[] = [];
  const command = [
    "curl -sS -H 'x-mine: 1' http://127.0.0.1:3128/path?query; echo",
    "curl -s -o /dev/null -w '%{http_code}\\n' http://127.0.0.1:3128/broken",
    "curl -sS -m 5 -p -x http://127.0.0.1:3128 http://elsewhere.test/ 2>/dev/null || echo no tunnel",
    "curl -sS -m 5 http://93.184.216.34/ 2>/dev/null || echo no connection",
    "curl -sS -m 5 http://elsewhere.test/ 2>/dev/null || echo no name",
  ].join("; ");
  await sandbox.exec(
    { command, timeoutMs: 20_000 },
    (chunk) => chunks.push(Uint8Array.from(chunk)),
    new AbortController().signal,
  );
  expect(Buffer.concat(chunks).toString().trim().split("\n")).toEqual([
    "hello true",
    "502",
    "no tunnel",
    "no connection",
    "no name",
  ]);
  expect(paths).toEqual(["GET /path?query", "GET /broken"]);
  expect(world.sandboxes.outside.dialled).toEqual([]);
  await provider.dispose("hand_gate");
});
