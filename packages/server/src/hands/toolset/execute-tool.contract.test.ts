import { afterAll, beforeAll, expect, test } from "vitest";
import { type Box, startOn } from "../../core/ports/sandbox.testsuite.ts";
import { SandboxGoneError } from "../../core/ports/sandbox.ts";
import { type BubblewrapWorld, openBubblewrapWorld } from "../sandbox/bubblewrap/test-world.ts";
import { executeTool } from "./execute-tool.ts";

let world: BubblewrapWorld;
let box: Box;
beforeAll(async () => {
  world = await openBubblewrapWorld();
  box = await startOn(world.provider);
});
afterAll(async () => {
  await box[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

interface Options {
  readonly signal?: AbortSignal;
  readonly onOutput?: (chunk: Uint8Array) => void;
  readonly on?: Box;
}

async function call(name: string, input: Record<string, unknown>, options: Options = {}) {
  const { signal = new AbortController().signal, onOutput = () => undefined, on = box } = options;
  const { content, is_error } = await executeTool(on.sandbox, { name, input }, onOutput, signal);
  const [block] = content;
  if (content.length !== 1 || block?.type !== "text") throw new Error("not one text");
  return is_error ? { error: block.text } : block.text;
}

const sh = (command: string) => call("bash", { command });

test("bash gives output, and `exit N` or the output as an error", async () => {
  expect(await sh("echo out; echo err >&2")).toBe("out\nerr");
  expect(await sh("true")).toBe("(no output)");
  expect(await sh("exit 3")).toEqual({ error: "exit 3" });
  expect(await sh("echo no; false")).toEqual({ error: "no" });
  expect(await sh("printf '\\033[31mred\\033[0m\\n\\n'")).toBe("red");
  expect(await sh("kill -9 $$")).toEqual({ error: expect.stringContaining("killed by a signal") });
});

test("bash restarts on demand, with and without a command", async () => {
  await sh("X=1; cd /tmp");
  expect(await call("bash", { restart: true })).toBe("bash session restarted");
  expect(await sh('echo "[$X] $PWD"')).toBe("[] /workspace");
  await sh("X=1");
  expect(await call("bash", { restart: true, command: 'echo "[$X]"' })).toBe("[]");
});

test("bash says that time was over and what was killed", async () => {
  expect(await call("bash", { command: "echo begun; sleep 600", timeout_ms: 2_000 })).toEqual({
    error:
      "begun\n\nThe command timed out after 2000 ms. The shell and everything started in it were killed; the next command gets a new shell.",
  });
  const cancelled = call("bash", { command: "sleep 600" }, { signal: AbortSignal.timeout(50) });
  expect(await cancelled).toEqual({ error: expect.stringMatching(/^The command was cancelled\./) });
});

test("bash passes output on while the command runs", async () => {
  const stop = new AbortController();
  const heard: string[] = [];
  const onOutput = (chunk: Uint8Array) => {
    heard.push(Buffer.from(chunk).toString());
    stop.abort();
  };
  await call("bash", { command: "echo early; sleep 600" }, { signal: stop.signal, onOutput });
  expect(heard.join("")).toBe("early\n");
});

test("bash output of 100,000 characters is given whole, and more is kept in a file", async () => {
  expect(await sh("head -c 100000 /dev/zero | tr '\\0' x")).toBe("x".repeat(100_000));
  const wide = await sh("for i in $(seq 60000); do printf 'ü'; done");
  expect(wide).toBe("ü".repeat(60_000));
  const long = await sh("seq 1 200000");
  expect(long).toMatch(/^1\n2\n3\n[\s\S]*\n200000$/);
  const [, bytes, path] =
    /\[output truncated: (\d+) bytes; all of it is in (\S+)\]/.exec(`${long}`) ?? [];
  expect(bytes).toBe("1288895");
  expect(String(long).length).toBeLessThan(50_000);
  expect(await sh(`wc -c < ${path}; tail -n 1 ${path}`)).toBe("1288895\n200000");
});

test("bash output of many megabytes keeps its ends, and up to 64 MB in the file", async () => {
  const long = await sh("echo FIRST; head -c 80000000 /dev/zero | tr '\\0' x; echo; echo LAST");
  const [, kept, path] = /the first (\d+) bytes are in (\S+)\]/.exec(`${long}`) ?? [];
  expect(long).toMatch(/^FIRST\nx[\s\S]*x\nLAST$/);
  expect(kept).toBe(String(64 * 1024 * 1024));
  expect(await sh(`stat -c %s ${path}`)).toBe(kept);
});

test("bytes that are no text become text that can be sent", async () => {
  expect(await sh("printf 'a\\000b\\377c\\355\\240\\200d'")).toBe(
    "a\uFFFDb\uFFFDc\uFFFD\uFFFD\uFFFDd",
  );
  await sh("printf 'x\\000y\\376' > binary");
  expect(await call("read", { file_path: "binary" })).toBe("x\uFFFDy\uFFFD");
  expect(await call("write", { file_path: "lone", content: "a\uD800b" })).toBe(
    "wrote 5 bytes to lone",
  );
});

test("write and read back, relative to the workspace", async () => {
  expect(await call("write", { file_path: "a/b.txt", content: "one\ntwo\nthree\n" })).toBe(
    "wrote 14 bytes to a/b.txt",
  );
  expect(await call("read", { file_path: "/workspace/a/b.txt" })).toBe("one\ntwo\nthree\n");
  expect(await call("read", { file_path: "a/../a/b.txt" })).toBe("one\ntwo\nthree\n");
  expect(await call("write", { file_path: "empty", content: "" })).toBe("wrote 0 bytes to empty");
  expect(await call("read", { file_path: "empty" })).toBe("(no output)");
});

test("read selects lines", async () => {
  await call("write", { file_path: "lines", content: "1\n2\n3\n4\n5" });
  const lines = (...view_range: number[]) => call("read", { file_path: "lines", view_range });
  expect(await lines(2, 3)).toBe("2\n3");
  expect(await lines(4, 0)).toBe("4\n5");
  expect(await lines(5, -1)).toBe("5");
  expect(await lines(1, 100)).toBe("1\n2\n3\n4\n5");
  expect(await lines(0, 1)).toBe("1");
  expect(await lines(6, 9)).toEqual({ error: "read: view_range: lines has only 5 lines" });
  expect(await lines(3, 2)).toEqual({ error: "read: view_range: line 2 is before line 3" });
  expect(await lines(1)).toEqual({ error: "read: view_range: must be [start_line, end_line]" });
  expect(await call("read", { file_path: "empty", view_range: [1, 5] })).toBe("(no output)");
});

test("read wants a range for a large file, and bounds what a range gives", async () => {
  await sh(
    "seq 1 1000000 > large; head -c 300000 /dev/zero | tr '\\0' x > wide; head -c 5000000 /dev/zero > wider",
  );
  expect(await call("read", { file_path: "large" })).toEqual({
    error:
      "read: large is 6888896 bytes, more than 262144: use view_range to read a part of it, such as [1, 500]",
  });
  expect(await call("read", { file_path: "large", view_range: [999_999, 1_000_000] })).toBe(
    "999999\n1000000",
  );
  const wide = await call("read", { file_path: "wide", view_range: [1, 1] });
  expect(wide).toMatch(
    /\[output truncated: 300000 bytes; all of it is in \/mnt\/session\/\.spill\/read-/,
  );
  expect(await call("read", { file_path: "wider", view_range: [1, 1] })).toEqual({
    error: "read: view_range: those lines of wider are more than 4194304 bytes",
  });
});

test("file tools say what is wrong with the file", async () => {
  await sh("mkdir -p dir; mkfifo pipe");
  expect(await call("read", { file_path: "none" })).toEqual({
    error: "read: none: no such file or directory",
  });
  expect(await call("read", { file_path: "dir" })).toEqual({ error: "read: dir: is a directory" });
  expect(await call("read", { file_path: "pipe" })).toEqual({
    error: "read: /workspace/pipe: is not a regular file",
  });
  expect(await call("write", { file_path: "/usr/x", content: "" })).toEqual({
    error: expect.stringMatching(/^write: \/usr\/x: /),
  });
  expect(await call("edit", { file_path: "none", old_string: "a", new_string: "b" })).toEqual({
    error: "edit: none: no such file or directory",
  });
  expect(await call("read", { file_path: "a\0b" })).toEqual({
    error: "read: NUL bytes are not possible here",
  });
});

test("edit replaces text that is found once, or all of it", async () => {
  const edit = (old_string: string, new_string: string, more = {}) =>
    call("edit", { file_path: "e", old_string, new_string, ...more });
  await call("write", { file_path: "e", content: "a b a $& c" });
  expect(await edit("b", "$& $1 \\")).toBe("edited e (1 replacement(s))");
  expect(await call("read", { file_path: "e" })).toBe("a $& $1 \\ a $& c");
  expect(await edit("a", "x")).toEqual({
    error: "edit: old_string appears 2 times in e: it must be unique, or set replace_all",
  });
  expect(await edit("a", "xx", { replace_all: true })).toBe("edited e (2 replacement(s))");
  expect(await edit("nothing", "x")).toEqual({ error: "edit: old_string not found in e" });
  expect(await edit("", "x")).toEqual({ error: "edit: old_string: is required" });
  expect(await edit(" c", "")).toBe("edited e (1 replacement(s))");
  expect(await call("read", { file_path: "e" })).toBe("xx $& $1 \\ xx $&");
});

test("edit keeps mode and bytes that it does not replace", async () => {
  await sh("printf '#!/bin/sh\\necho \\377old\\n' > s; chmod 755 s");
  expect(await call("edit", { file_path: "s", old_string: "old", new_string: "new" })).toBe(
    "edited s (1 replacement(s))",
  );
  expect(await sh("stat -c %a s; ./s | od -An -tx1")).toBe("755\n ff 6e 65 77 0a");
});

test("glob gives the newest files first, and only files", async () => {
  await sh(
    "mkdir -p g/src/deep g/.git g/node_modules/m; cd g; touch -d '1 hour ago' src/a.ts; touch -d '2 hours ago' src/deep/b.ts; touch c.ts .git/d.ts node_modules/m/e.ts; mkdir src/dir.ts; ln -s /etc src/etc; cd ..",
  );
  expect(await call("glob", { pattern: "**/*.ts", path: "g" })).toBe(
    "/workspace/g/c.ts\n/workspace/g/src/a.ts\n/workspace/g/src/deep/b.ts",
  );
  expect(await call("glob", { pattern: "g/src/{deep/*,a.*}" })).toBe(
    "/workspace/g/src/a.ts\n/workspace/g/src/deep/b.ts",
  );
  expect(await call("glob", { pattern: "g/**/passwd" })).toBe("no matches");
  expect(await call("glob", { pattern: "../*" })).toEqual({
    error: 'glob: pattern: ".." is not permitted',
  });
  expect(await call("glob", { pattern: "/etc/*" })).toEqual({
    error: "glob: pattern: must be relative; see path",
  });
  expect(await call("glob", { pattern: "*", path: "nowhere" })).toEqual({
    error: expect.stringContaining("No such file or directory"),
  });
  await sh("mkdir many; touch many/{1..300}");
  expect(String(await call("glob", { pattern: "many/*" })).split("\n")).toHaveLength(200);
});

test.each(["rg", "grep"])("grep gives file, line and text, by %s", async (program) => {
  await using other = await startOn(world.provider);
  const on = program === "rg" ? box : other;
  // A `rg` that cannot be found, for the sandbox's own search by PATH.
  if (program === "grep") await hideRipgrep(on);
  await on.sh(
    "mkdir -p q/d; printf 'one\\ntwo (2)\\n' > q/a; printf 'two\\n' > q/d/b; printf 'two\\0' > q/bin; ln -s /etc q/etc",
  );
  const grep = (input: Record<string, unknown>) => call("grep", input, { on });
  expect(await grep({ pattern: "tw[o]", path: "q" })).toBe(
    "/workspace/q/a:2:two (2)\n/workspace/q/d/b:1:two",
  );
  expect(await grep({ pattern: "two", path: "q/a" })).toBe("/workspace/q/a:2:two (2)");
  expect(await grep({ pattern: "-nothing", path: "q" })).toBe("no matches");
  expect(await grep({ pattern: "(", path: "q" })).toEqual({
    error: expect.stringMatching(/^grep: /),
  });
  expect(await grep({ pattern: "x", path: "q/none" })).toEqual({
    error: expect.stringContaining("No such file"),
  });
  await on.sh("yes 'a long line that is found' | head -n 50000 > q/many");
  const many = await grep({ pattern: "found", path: "q/many" });
  expect(many).toMatch(/\[output truncated/);
});

test("search does not touch the shell, and goes on while it works", async () => {
  await sh("cd /tmp; Y=kept");
  await call("grep", { pattern: "two", path: "/workspace/q" });
  await call("glob", { pattern: "**" });
  expect(await sh("echo $Y $PWD")).toBe("kept /tmp");
  const stop = new AbortController();
  const onOutput = () => stop.abort();
  const [, found] = await Promise.all([
    call("bash", { command: "echo; sleep 600" }, { signal: stop.signal, onOutput }),
    call("grep", { pattern: "two", path: "/workspace/q/a" }),
  ]);
  expect(found).toBe("/workspace/q/a:2:two (2)");
});

test.each([
  ["bash", {}, "bash: command: is required"],
  ["bash", { command: 1 }, /^bash: command: .*expected string/],
  ["bash", { command: "x", timeout_ms: 0 }, /^bash: timeout_ms: /],
  ["bash", { command: "x", timeout_ms: 1.5 }, /^bash: timeout_ms: /],
  ["bash", { command: "a\0" }, "bash: NUL bytes are not possible here"],
  ["read", {}, /^read: file_path: /],
  ["read", { file_path: "x", view_range: "1-2" }, /^read: view_range: /],
  ["write", { file_path: "x" }, /^write: content: /],
  ["edit", { file_path: "x" }, /^edit: old_string: .*; new_string: /],
  ["glob", { pattern: "" }, "glob: pattern: is required"],
  ["grep", { pattern: "x".repeat(20_000) }, /^grep: pattern: /],
  ["web_search", { query: "x" }, 'there is no tool "web_search"'],
  ["constructor", {}, 'there is no tool "constructor"'],
])("%s with %j says which field is wrong", async (name, input, expected) => {
  const error = typeof expected === "string" ? expected : expect.stringMatching(expected);
  expect(await call(name, input)).toEqual({ error });
});

test("rejects when the sandbox dies, and only then", async () => {
  await using other = await startOn(world.provider);
  const dying = call("bash", { command: "kill -9 2; sleep 600" }, { on: other });
  await expect(dying).rejects.toThrow(SandboxGoneError);
  for (const [name, input] of [
    ["read", { file_path: "x" }],
    ["write", { file_path: "x", content: "" }],
    ["glob", { pattern: "x" }],
    ["grep", { pattern: "x" }],
    ["bash", { restart: true }],
  ] as const) {
    await expect(call(name, input, { on: other })).rejects.toThrow(SandboxGoneError);
  }
});

/** A folder of PATH before the others cannot be had, so the sandbox is asked for `rg` and refuses. */
async function hideRipgrep(on: Box): Promise<void> {
  const { sandbox } = on;
  const run = sandbox.run.bind(sandbox);
  sandbox.run = (request, signal) =>
    run(
      {
        ...request,
        argv: request.argv.map((word, index) =>
          index === 0 && word === "rg" ? "no-rg-here" : word,
        ),
      },
      signal,
    );
}
