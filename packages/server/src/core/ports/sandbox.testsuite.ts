import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { FileMount, Mount, Recipe, SandboxNetwork } from "./hands.ts";
import {
  type ExecRequest,
  type ExecResult,
  type Sandbox,
  SandboxFileError,
  SandboxGoneError,
  type SandboxProvider,
  type SandboxSecrets,
  SandboxUnavailableError,
} from "./sandbox.ts";

/** An installation: providers on one data folder, and blobs to mount. */
export interface SandboxWorld extends AsyncDisposable {
  readonly provider: SandboxProvider;
  /**
   * A further provider on the same data, as the next process of the installation would have. `answerMs`: how long its
   * agents may take to answer, if not as long as they may by default.
   */
  another(options?: { readonly answerMs?: number }): SandboxProvider;
  /** Where making a sandbox takes long: tests that need no new one share one, tidied up between them. */
  readonly isSlow?: boolean;
  /** Stores a blob and gives a mount of it. */
  mount(mountPath: string, content: string): Promise<FileMount>;
}

let lastHand = 0;

/** The contract of `SandboxProvider` and `Sandbox`, run by the test of every implementation. */
export function testSandboxes(name: string, open: () => Promise<SandboxWorld>): void {
  describe(name, () => {
    let world: SandboxWorld;
    beforeAll(async () => {
      world = await open();
    });
    afterAll(async () => world[Symbol.asyncDispose]());
    const start = (options?: StartOptions) =>
      options === undefined && world.isSlow ? tidyBox(world) : startOn(world.provider, options);

    test("says what it can enforce after having run a sandbox", async () => {
      const capabilities = await world.provider.capabilities(never());
      expect(capabilities.processLimit).toBe(true);
    });

    test("keeps directory, variables and functions from one command to the next", async () => {
      await using box = await start();
      await box.sh("cd /tmp; X='a  b'; greet() { echo \"hello $1\"; }; declare -A map=([k]=v)");
      expect(await box.sh('pwd; echo "$X"; greet you; declare -p map')).toEqual({
        exitCode: 0,
        ended: "exited",
        output: '/tmp\na  b\nhello you\ndeclare -A map=([k]="v" )\n',
      });
    });

    test("gives stdout and stderr in the order in which they were written", async () => {
      await using box = await start();
      const { output } = await box.sh("for i in 1 2 3; do echo out$i; echo err$i >&2; done");
      expect(output).toBe("out1\nerr1\nout2\nerr2\nout3\nerr3\n");
    });

    test("streams output while the command runs", async () => {
      await using box = await start();
      const first = Promise.withResolvers<string>();
      const stop = new AbortController();
      const running = box.sandbox.exec(
        { command: "echo early; exec sleep 600", timeoutMs: 60_000 },
        (chunk) => first.resolve(text(chunk)),
        stop.signal,
      );
      expect(await first.promise).toBe("early\n");
      stop.abort();
      expect((await running).ended).toBe("cancelled");
    });

    test("tells exit statuses, and has a new shell after `exit`", async () => {
      await using box = await start();
      expect((await box.sh("false")).exitCode).toBe(1);
      expect(await box.sh("X=1; cd /; echo bye; exit 3")).toEqual({
        exitCode: 3,
        ended: "exited",
        output: "bye\n",
      });
      expect((await box.sh('pwd; echo "[$X]"')).output).toBe("/workspace\n[]\n");
      expect(await box.sh("kill -9 $$")).toMatchObject({ exitCode: null, ended: "exited" });
      expect((await box.sh("set -e; false; echo no")).exitCode).toBe(1);
      expect((await box.sh("echo on")).output).toBe("on\n");
    });

    test.each([
      'echo "open',
      "echo $(",
      "if true; then",
      "f() {",
      "}",
      "echo `x",
      "a=(1",
      "cat <<",
      ";;",
      "echo |",
    ])("answers the syntax error %j and goes on with the same shell", async (command) => {
      const box = await sharedBox(world);
      await box.sh("X=kept");
      const broken = await box.sh(command);
      expect(broken).toMatchObject({ ended: "exited", exitCode: expect.any(Number) });
      expect(broken.exitCode).not.toBe(0);
      expect(await box.sh('echo "$X"; cat')).toEqual({
        exitCode: 0,
        ended: "exited",
        output: "kept\n",
      });
    });

    test("takes commands of many lines, here-documents, `break` and `return`", async () => {
      const box = await sharedBox(world);
      const command =
        "cat <<'END'\n$X 'quoted\nEND\nfor i in 1 2; do\n  echo $i\ndone; break; return; echo end";
      const { output, exitCode } = await box.sh(command);
      expect(exitCode).toBe(0);
      expect(output).toMatch(/^\$X 'quoted\n1\n2\n/);
      expect(output).toMatch(/end\n$/);
      const long = `echo ${"x".repeat(300_000)}`;
      expect((await box.sh(long, 55_000)).output.length).toBe(300_001);
    });

    test("lets a command that reads stdin see its end", async () => {
      const box = await sharedBox(world);
      expect((await box.sh("cat; read x; echo done")).output).toBe("done\n");
    });

    test("ends a command when it ends, though a background process holds its output open", async () => {
      await using box = await start();
      expect((await box.sh("sleep 600 & echo started")).output).toBe("started\n");
      await box.sh("mkfifo go; (read x < go; echo late) &");
      const { output } = await box.sh("echo > go; wait %2 2>/dev/null || wait -n; echo next");
      expect(output).toContain("late\n");
    });

    test("kills the shell and all it started when the time is over", async () => {
      await using box = await start();
      await box.sh(SURVIVORS);
      // They may not have become their programs yet.
      await expect.poll(() => processes(box)).not.toEqual([]);
      const result = await box.sh("echo before; trap '' TERM; sleep 600", 2_000);
      expect(result).toEqual({ exitCode: null, ended: "timeout", output: "before\n" });
      expect(await processes(box)).toEqual([]);
      expect((await box.sh("echo alive")).output).toBe("alive\n");
    });

    test("kills the shell and all it started on cancellation", async () => {
      await using box = await start();
      const stop = new AbortController();
      const request = { command: `${SURVIVORS} echo up; sleep 600`, timeoutMs: 60_000 };
      let heard = "";
      const onOutput = (chunk: Uint8Array) => {
        heard += text(chunk);
        stop.abort();
      };
      const running = box.sandbox.exec(request, onOutput, stop.signal);
      expect(await running).toMatchObject({ exitCode: null, ended: "cancelled" });
      expect(heard).toBe("up\n");
      expect(await processes(box)).toEqual([]);
    });

    test("runs commands one after another, and not those that were cancelled while waiting", async () => {
      await using box = await start();
      const stop = new AbortController();
      const first = box.sh("mkfifo gate; cat gate; echo first >> order");
      const second = box.sh("echo second >> order");
      const third = box.sandbox.exec(
        { command: "echo third >> order", timeoutMs: 9_000 },
        ignore,
        stop.signal,
      );
      stop.abort();
      expect(await third).toMatchObject({ exitCode: null, ended: "cancelled" });
      await until(async () => (await box.sandbox.stat("/workspace/gate")) !== undefined);
      await box.run("sh", "-c", "echo > /workspace/gate");
      await Promise.all([first, second]);
      expect((await box.sh("cat order")).output).toBe("first\nsecond\n");
    });

    test("restarts the shell, ending all it started", async () => {
      await using box = await start();
      await box.sh(`X=1; cd /; ${SURVIVORS}`);
      await box.sandbox.restartShell();
      expect(await processes(box)).toEqual([]);
      expect((await box.sh('echo "[$X] $PWD"')).output).toBe("[] /workspace\n");
    });

    test("does everything else while a command runs", async () => {
      await using box = await start();
      const stop = new AbortController();
      const begun = Promise.withResolvers<undefined>();
      const request = { command: "echo; sleep 600", timeoutMs: 60_000 };
      const running = box.sandbox.exec(request, () => begun.resolve(undefined), stop.signal);
      await begun.promise;
      await box.sandbox.write("/workspace/a", bytes("abc"));
      expect(await box.readText("/workspace/a")).toBe("abc");
      expect(await box.sandbox.stat("/workspace/a")).toMatchObject({ size_bytes: 3 });
      expect(await box.sandbox.list("/workspace", 10)).toHaveLength(1);
      expect(text((await box.run("cat", "/workspace/a")).stdout)).toBe("abc");
      stop.abort();
      expect((await running).ended).toBe("cancelled");
    });

    test("bounds endless output, and keeps its beginning and its end", async () => {
      await using box = await start();
      let received = 0;
      const result = await box.sandbox.exec(
        { command: "echo BEGIN; head -c 60000000 /dev/zero; echo END", timeoutMs: 30_000 },
        (chunk) => {
          received += chunk.byteLength;
        },
        never(),
      );
      expect(result).toMatchObject({ exitCode: 0, output_bytes: 60_000_010 });
      expect(received + (result.omitted_bytes ?? 0)).toBe(60_000_010);
      expect(received).toBeLessThan(8 * 1024 * 1024);
      const endless = await box.sh("yes", 500, { keep: 100 });
      expect(endless.ended).toBe("timeout");
    });

    test("keeps long output in a file inside, up to a size", async () => {
      await using box = await start();
      const spill = { path: "/mnt/session/.spill/one", afterBytes: 10, bytesMax: 50 };
      const short = await box.exec({ command: "echo 123456789", timeoutMs: 9_000, spill });
      expect(short).toMatchObject({ output_bytes: 10, spilled_bytes: 0 });
      expect(await box.sandbox.stat(spill.path)).toBe(undefined);
      const long = await box.exec({ command: "seq 1 10000", timeoutMs: 9_000, spill });
      expect(long).toMatchObject({ spilled_bytes: 50 });
      expect(await box.readText(spill.path)).toBe(
        "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20",
      );
    });

    test("reads ranges of regular files, and refuses everything else", async () => {
      await using box = await start();
      await box.sh("printf 0123456789 > f; mkfifo pipe; ln -s f link; ln -s nowhere dead");
      const { sandbox } = box;
      const whole = { offset: 0, limit: 1000 };
      expect(await box.readText("/workspace/link")).toBe("0123456789");
      const part = await sandbox.read("/workspace/f", { offset: 3, limit: 4 });
      expect({ ...part, bytes: text(part.bytes) }).toEqual({ bytes: "3456", size_bytes: 10 });
      const beyond = await sandbox.read("/workspace/f", { offset: 50, limit: 4 });
      expect(beyond.bytes.byteLength).toBe(0);
      expect(await codeOf(sandbox.read("/workspace/none", whole))).toBe("ENOENT");
      expect(await codeOf(sandbox.read("/workspace/dead", whole))).toBe("ENOENT");
      expect(await codeOf(sandbox.read("/workspace", whole))).toBe("EISDIR");
      expect(await codeOf(sandbox.read("/workspace/pipe", whole))).toBe("EINVAL");
      expect(await codeOf(sandbox.read("/dev/zero", whole))).toBe("EINVAL");
      expect(await codeOf(sandbox.read("relative", whole))).toBe("EINVAL");
      expect(await codeOf(sandbox.read("/a\0b", whole))).toBe("EINVAL");
      expect(text((await sandbox.read("/proc/self/comm", whole)).bytes)).not.toBe("");
    });

    test("writes files whole, with their parents, keeping mode and links", async () => {
      await using box = await start();
      const { sandbox } = box;
      await sandbox.write("/workspace/a/b c/ü", bytes("hello"));
      expect((await box.sh("cat 'a/b c/ü'")).output).toBe("hello");
      await box.sh("mkdir d; echo '#!/bin/sh' > d/run; chmod 750 d/run; ln -s d/run link");
      await sandbox.write("/workspace/link", bytes("#!/bin/sh\necho ran\n"));
      expect((await box.sh("find d/run link -printf '%m %y\\n'; ./link")).output).toBe(
        "750 f\n777 l\nran\n",
      );
      const big = new Uint8Array(3_500_000).map((_, index) => (index * 7) % 256);
      await sandbox.write("/workspace/big", big);
      const back = await sandbox.read("/workspace/big", { offset: 0, limit: 4_000_000 });
      expect(back.size_bytes).toBe(big.byteLength);
      expect(back.bytes.every((byte, index) => byte === big[index])).toBe(true);
      await sandbox.write("/workspace/empty", new Uint8Array());
      expect(await sandbox.stat("/workspace/empty")).toMatchObject({ size_bytes: 0 });
      expect((await box.sh("find . -name '.*' -type f")).output).toBe("");
    });

    test("refuses to write where nothing can be written", async () => {
      await using box = await start();
      await box.sh("mkdir d; mkfifo pipe; echo x > file; echo keep > ro; chmod 400 ro");
      const write = (path: string) => codeOf(box.sandbox.write(path, bytes("x")));
      expect(await write("/workspace/d")).toBe("EISDIR");
      expect(await write("/workspace/pipe")).toBe("EINVAL");
      expect(await write("/workspace/file/below")).toBe("ENOTDIR");
      expect(await write("/workspace/ro")).toBe("EACCES");
      expect(await write("/usr/new")).toMatch(/EROFS|EACCES/);
      expect(await write("/new")).toMatch(/EROFS|EACCES/);
      expect(await write("/dev/null")).toBe("EINVAL");
      expect(await write("/mnt/session/uploads/new")).toMatch(/EROFS|EACCES/);
    });

    test("describes files by a version that changes with them", async () => {
      await using box = await start();
      const { sandbox } = box;
      await sandbox.write("/workspace/f", bytes("one"));
      await box.sh("ln -s f link; mkfifo pipe");
      const before = await sandbox.stat("/workspace/f");
      expect(before).toMatchObject({ path: "/workspace/f", type: "file", size_bytes: 3 });
      expect(await sandbox.stat("/workspace/f")).toEqual(before);
      await box.sh("printf two > f");
      const after = await sandbox.stat("/workspace/f");
      expect(after?.version).not.toBe(before?.version);
      expect(after?.mtime_ms).toBeGreaterThan(1_700_000_000_000);
      expect(await sandbox.stat("/workspace/link")).toMatchObject({ type: "symlink" });
      expect(await sandbox.stat("/workspace/pipe")).toMatchObject({ type: "other" });
      expect(await sandbox.stat("/workspace")).toMatchObject({ type: "directory" });
      expect(await sandbox.stat("/workspace/none")).toBe(undefined);
      expect(await sandbox.stat("/workspace/f/none")).toBe(undefined);
    });

    test("lists what is below a directory, bounded, without following links", async () => {
      await using box = await start();
      await box.sh("mkdir -p o/x/y; touch o/1 o/x/2 o/x/y/3; ln -s / o/root; ln -s . o/self");
      const list = async (path: string, limit: number) => {
        const files = await box.sandbox.list(path, limit);
        return files.map((file) => `${file.path} ${file.type}`).sort();
      };
      expect(await list("/workspace/o", 100)).toEqual([
        "/workspace/o/1 file",
        "/workspace/o/root symlink",
        "/workspace/o/self symlink",
        "/workspace/o/x/2 file",
        "/workspace/o/x/y/3 file",
      ]);
      expect(await list("/workspace/o", 2)).toHaveLength(2);
      expect(await list("/workspace/o/1", 10)).toEqual([]);
      expect(await list("/workspace/o/self", 10)).toEqual([]);
      expect(await list("/workspace/none", 10)).toEqual([]);
    });

    test("runs programs beside the shell", async () => {
      await using box = await start();
      await box.sh("cd /tmp; export SHELL_ONLY=1");
      const { sandbox } = box;
      const result = await box.run("sh", "-c", "pwd; echo [$SHELL_ONLY]; echo bad >&2; exit 4");
      expect({ ...result, stdout: text(result.stdout), stderr: text(result.stderr) }).toEqual({
        exitCode: 4,
        ended: "exited",
        stdout: "/workspace\n[]\n",
        stderr: "bad\n",
      });
      const argv = ["head", "-c", "1000000", "/dev/zero"];
      const full = await sandbox.run({ argv, timeoutMs: 9_000, stdoutBytesMax: 1000 }, never());
      expect(full).toMatchObject({ ended: "full", stdout: { byteLength: 1000 } });
      const late = { argv: ["sleep", "600"], timeoutMs: 50, stdoutBytesMax: 10 };
      expect(await sandbox.run(late, never())).toMatchObject({ exitCode: null, ended: "timeout" });
      const aborted = sandbox.run({ ...late, timeoutMs: 9_000 }, AbortSignal.timeout(20));
      expect(await aborted).toMatchObject({ exitCode: null, ended: "cancelled" });
      expect(await codeOf(box.run("no-such-program"))).toBe("ENOENT");
      expect(await codeOf(box.run("echo", "a\0b"))).toBe("EINVAL");
      expect((await box.sh("pwd")).output).toBe("/tmp\n");
    });

    test("ends a program that is cancelled in the moment in which it is started", async () => {
      const { sandbox } = await sharedBox(world);
      for (let time = 0; time < 5; time += 1) {
        const stop = new AbortController();
        const request = { argv: ["sleep", "600"], timeoutMs: 60_000, stdoutBytesMax: 10 };
        const running = sandbox.run(request, stop.signal);
        stop.abort();
        expect(await running).toMatchObject({ exitCode: null, ended: "cancelled" });
      }
    });

    test("runs a program again that was killed together with the shell", async () => {
      await using box = await start();
      // It has looked for `go` before it shows that it runs, or it might find it there the first time.
      const script =
        "cd /workspace; pause=600; [ -e go ] && pause=0; echo begun >> runs; : > started; sleep $pause; echo fine";
      const running = box.run("sh", "-c", script);
      await until(async () => (await box.sandbox.stat("/workspace/started")) !== undefined);
      await box.sandbox.write("/workspace/go", bytes(""));
      await box.sandbox.restartShell();
      expect(text((await running).stdout)).toBe("fine\n");
      expect(await box.readText("/workspace/runs")).toBe("begun\nbegun\n");
    });

    test("refuses a command that no shell can be given", async () => {
      const box = await sharedBox(world);
      expect(await codeOf(box.sh("echo \0"))).toBe("EINVAL");
      expect(await codeOf(box.sh(`: ${"x".repeat(2_000_000)}`))).toBe("E2BIG");
      expect((await box.sh("echo on")).output).toBe("on\n");
    });

    test("keeps workspace and outputs, and nothing else, for the hand's next sandbox", async () => {
      const hand = newHand();
      await using first = await start({ hand });
      await first.sh("echo w > w; echo o > /mnt/session/outputs/o; echo t > /tmp/t; sleep 600 &");
      await first.sandbox.close();
      expect(await first.sandbox.closed).toBe("it was closed");
      await expect(first.sh("true")).rejects.toThrow(SandboxGoneError);
      await expect(first.sandbox.stat("/")).rejects.toThrow(SandboxGoneError);
      await using second = await start({ hand });
      const { output } = await second.sh("cat w /mnt/session/outputs/o; find /tmp -mindepth 1");
      expect(output).toBe("w\no\n");
      expect(await processes(second)).toEqual([]);
    });

    test("makes the hand's next sandbox whatever became of its folders' permissions", async () => {
      const hand = newHand();
      const first = await startOn(world.provider, { hand });
      await first.sh("echo kept > /workspace/a; chmod 0 /mnt/session/outputs /workspace");
      await first.sandbox.close();
      await using next = await startOn(world.provider, { hand });
      expect((await next.sh("cat /workspace/a; touch /mnt/session/outputs/b")).output).toBe(
        "kept\n",
      );
    });

    test("keeps hands apart", async () => {
      await using one = await start({});
      await using other = await start({});
      await one.sh("echo secret > /workspace/s; echo secret > /tmp/s; sleep 601 &");
      const seen = await other.sh("find /workspace /tmp; ps ax | grep -c '[s]leep 601'; echo $?");
      expect(seen.output).toBe("/workspace\n/tmp\n0\n1\n");
    });

    test("notices the death of a sandbox, and makes another on the same workspace", async () => {
      const hand = newHand();
      await using box = await start({ hand });
      const dying = box.sh("echo x > x; sleep 600 & kill -9 -1; kill -9 $PPID; sleep 600");
      await expect(dying).rejects.toThrow(SandboxGoneError);
      expect(await box.sandbox.closed).toMatch(/\w/);
      await using next = await start({ hand });
      expect((await next.sh("cat x")).output).toBe("x\n");
    });

    test("takes an agent that was stopped for lost", async () => {
      const hasty = world.another({ answerMs: 3_000 });
      await using box = await startOn(hasty, { hand: newHand() });
      await expect(box.sh("kill -STOP $PPID; sleep 600", 100)).rejects.toThrow(SandboxGoneError);
      expect(await box.sandbox.closed).toMatch(/\w/);
    });

    test("ends an earlier sandbox of the hand before it makes the next", async () => {
      const hand = newHand();
      await using box = await start({ hand });
      await box.sh("(while :; do echo . >> beat; done) &");
      const next = world.another();
      await using after = await startOn(next, { hand });
      expect(await box.sandbox.closed).toMatch(/\w/);
      const before = await after.sandbox.stat("/workspace/beat");
      expect((await after.sh("sleep 0.2; ps ax | grep -c '[b]eat'")).output).toBe("0\n");
      expect(await after.sandbox.stat("/workspace/beat")).toEqual(before);
    });

    test("reaps what an earlier process left", async () => {
      const hand = newHand();
      const probe = "probe-0123456789abcdef";
      await using box = await start({ hand });
      await using tried = await start({ hand: probe });
      for (const one of [box, tried]) await one.sh("echo kept > kept");
      await world.another().reap();
      for (const { sandbox } of [box, tried]) expect(await sandbox.closed).toMatch(/\w/);
      await using next = await start({ hand });
      expect((await next.sh("ls -A")).output).toBe("kept\n");
      // What was only to be tried out has nobody who would dispose of it.
      await using again = await start({ hand: probe });
      expect((await again.sh("ls -A")).output).toBe("");
    });

    test("disposes of a hand: whatever is in its workspace goes, and nothing else", async () => {
      const hand = newHand();
      await using keeper = await start({});
      await keeper.sh("echo precious > precious");
      await using box = await start({ hand });
      await box.sh(
        // Deeper than any path can name.
        "perl -e 'for (1 .. 300) { my $d = q(a) x 20; mkdir $d and chdir $d or die $! }'; " +
          "ln -s / root; ln -s /etc/passwd p; mkdir locked; touch locked/f; chmod 000 locked; mkfifo pipe; touch -- '-rf' $'new\\nline'",
      );
      await world.provider.dispose(hand);
      expect(await box.sandbox.closed).toMatch(/\w/);
      await world.provider.dispose(hand);
      await using next = await start({ hand });
      expect((await next.sh("ls -A")).output).toBe("");
      expect((await keeper.sh("cat precious")).output).toBe("precious\n");
    });

    test("shows mounted files, read-only", async () => {
      const mounts = [
        await world.mount("/mnt/session/uploads/a.txt", "first"),
        await world.mount("/mnt/session/uploads/deep/er/b ü.txt", "second"),
      ];
      await using box = await start({ mounts });
      const { output } = await box.sh(
        "cd /mnt/session/uploads; cat a.txt deep/er/b*; echo x > a.txt; echo $?; rm -f a.txt; chmod 777 a.txt; touch new; ls",
      );
      expect(output).toMatch(/^firstsecond/);
      expect(output).toMatch(/1\n/);
      expect(output).toMatch(/a\.txt\ndeep\n$/);
      expect(await box.readText("/mnt/session/uploads/a.txt")).toBe("first");
    });

    test("shows files that come and go while programs run, each whole or not at all", async () => {
      const at = (path: string, content: string) =>
        world.mount(`/mnt/session/uploads/${path}`, content);
      const given = await at("given.txt", "given");
      const [ones, twos] = [
        await at("deep/big", "1".repeat(1e6)),
        await at("deep/big", "2".repeat(9e5)),
      ];
      await using box = await start({ mounts: [given, ones] });
      const show = (...mounts: readonly Mount[]) =>
        box.sandbox.showFiles(recipeWith(world.provider, mounts));
      const look =
        "cd /; until [ -e /workspace/over ]; do cksum < /mnt/session/uploads/deep/big; : > /workspace/begun; done";
      const looking = box.sh(`{ ${look}; } 2>&1 | sort | uniq -c`);
      await box.run("sh", "-c", "until [ -e /workspace/begun ]; do sleep 0.01; done");
      for (let turn = 0; turn < 20; turn += 1) {
        await show(given, twos);
        if (turn % 5 === 0) await show(given);
        await show(given, ones);
      }
      await box.sandbox.write("/workspace/over", Buffer.from(""));
      const seen = (await looking).output.trim().split("\n");
      const whole = /^ *\d+ \d+ (1000000|900000)$|No such file/;
      expect(seen.filter((line) => !whole.test(line))).toEqual([]);
      expect(seen.length).toBeLessThan(5);

      await show(await at("new/er.txt", "new"), await at("deep", "a file now"));
      const { output } = await box.sh(
        "cd /mnt/session/uploads; cat new/er.txt deep; echo x >> deep || touch made || rm -f deep; find . -type f | sort",
      );
      expect(output).toMatch(
        /^newa file now.*(?:Read-only file system|Permission denied).*\n\.\/deep\n\.\/new\/er\.txt\n$/s,
      );
      expect(output).not.toContain("given");
      const missing = { ...given, sha256: "0".repeat(64) };
      await expect(show(given, missing)).rejects.toThrow(SandboxUnavailableError);
      await expect(show({ ...given, sha256: "0".repeat(64) })).rejects.toThrow("cannot be had");
      await show(given);
      expect((await box.sh("cd /mnt/session/uploads; find . -type f")).output).toBe(
        "./given.txt\n",
      );
    });

    test.each([
      "/etc/passwd",
      "/mnt/session/uploads",
      "/mnt/session/uploads/",
      "/mnt/session/uploads/../outputs/x",
      "/mnt/session/uploads//x",
      "/mnt/session/uploads/x\0y",
    ])("refuses a mount at %j", async (mount_path) => {
      const good = await world.mount("/mnt/session/uploads/x", "content");
      const made = start({ mounts: [{ ...good, mount_path }] });
      await expect(made).rejects.toThrow(SandboxUnavailableError);
    });

    test("refuses mounts that meet, and mounts of blobs that are not there", async () => {
      const one = await world.mount("/mnt/session/uploads/x", "content");
      const below = { ...one, mount_path: "/mnt/session/uploads/x/y" };
      const missing = { ...one, sha256: "0".repeat(64) };
      for (const mounts of [[one, one], [one, below], [missing]]) {
        await expect(start({ mounts })).rejects.toThrow(SandboxUnavailableError);
      }
    });

    test("gives up a sandbox that is no longer wanted", async () => {
      const hand = newHand();
      const aborted = start({ hand, signal: AbortSignal.abort() });
      await expect(aborted).rejects.toThrow(SandboxUnavailableError);
      const soon = new AbortController();
      const making = start({ hand, signal: soon.signal });
      making.catch(ignore);
      soon.abort();
      await expect(making).rejects.toThrow(SandboxUnavailableError);
      await using box = await start({ hand });
      expect((await box.sh("echo fine")).output).toBe("fine\n");
    });

    test("refuses what is not the id of a hand", async () => {
      for (const hand of ["", "..", "a/b", ".x", "a\0", "a".repeat(200)]) {
        await expect(start({ hand })).rejects.toThrow(/not the id/);
      }
    });
  });
}

/** Processes that try to outlive their shell: own session, double fork, deaf to TERM and HUP. */
const SURVIVORS =
  "(trap '' TERM HUP INT; setsid sleep 600 &); (setsid bash -c '(trap \"\" TERM; sleep 600) &' &); " +
  "nohup sleep 600 >/dev/null 2>&1 & perl -e 'fork && exit; setpgrp; $SIG{TERM} = q(IGNORE); sleep 600' &";

interface StartOptions {
  readonly hand?: string;
  readonly mounts?: readonly Mount[];
  readonly network?: SandboxNetwork;
  readonly secrets?: SandboxSecrets;
  readonly signal?: AbortSignal;
}

/** A sandbox with shorter ways to ask it. */
export class Box implements AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly #dispose: () => Promise<void>;

  constructor(sandbox: Sandbox, dispose: () => Promise<void>) {
    this.sandbox = sandbox;
    this.#dispose = dispose;
  }

  async sh(
    command: string,
    timeoutMs = 20_000,
    { keep }: { keep: number } = { keep: 10_000_000 },
  ): Promise<{ output: string; exitCode: number | null; ended: ExecResult["ended"] }> {
    let output = "";
    const decoder = new TextDecoder();
    const onOutput = (chunk: Uint8Array) => {
      if (output.length < keep) output += decoder.decode(chunk, { stream: true });
    };
    const { exitCode, ended } = await this.sandbox.exec({ command, timeoutMs }, onOutput, never());
    return { exitCode, ended, output };
  }

  exec(request: ExecRequest): Promise<ExecResult> {
    return this.sandbox.exec(request, ignore, never());
  }

  run(...argv: string[]) {
    return this.sandbox.run({ argv, timeoutMs: 20_000, stdoutBytesMax: 100_000 }, never());
  }

  async readText(path: string): Promise<string> {
    return text((await this.sandbox.read(path, { offset: 0, limit: 100_000 })).bytes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#dispose();
  }
}

/** Makes a sandbox for a test, which disposes of its hand. */
export async function startOn(
  provider: SandboxProvider,
  {
    hand = newHand(),
    mounts = [],
    network = { type: "none" },
    secrets,
    signal = never(),
  }: StartOptions = {},
): Promise<Box> {
  const sandbox = await provider.provision(
    {
      workspaceId: "wrkspc_test",
      handId: hand,
      recipe: recipeWith(provider, mounts, network),
      ...(secrets !== undefined && { secrets }),
    },
    signal,
  );
  return new Box(sandbox, () => provider.dispose(hand));
}

function recipeWith(
  provider: Pick<SandboxProvider, "names">,
  mounts: readonly Mount[],
  network: SandboxNetwork = { type: "none" },
): Recipe {
  return { provider: provider.names[0], base: { type: "host" }, mounts, network };
}

const shared = new WeakMap<SandboxWorld, Promise<Box>>();

/** One sandbox for tests that leave nothing behind; it goes with its world. */
function sharedBox(world: SandboxWorld): Promise<Box> {
  const known = shared.get(world);
  if (known) return known;
  const box = startOn(world.provider);
  shared.set(world, box);
  const forget = () => shared.delete(world);
  box.then(({ sandbox }) => sandbox.closed).then(forget, forget);
  return box;
}

/** The shared sandbox as a new one would be: no process, no file of an earlier test. */
async function tidyBox(world: SandboxWorld): Promise<Box> {
  const { sandbox } = await sharedBox(world);
  await sandbox.restartShell();
  const box = new Box(sandbox, async () => undefined);
  const places = "/workspace /mnt/session/outputs /mnt/session/.spill /tmp";
  const { exitCode } = await box.sh(
    `chmod -R u+rwX ${places} 2>/dev/null; find ${places} -mindepth 1 -delete`,
  );
  expect(exitCode).toBe(0);
  return box;
}

/** Command lines of all processes but those that are always there. */
async function processes(box: Box): Promise<string[]> {
  const { output } = await box.sh(
    "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done",
  );
  return output.split("\n").filter((line) => /sleep|perl -e/.test(line));
}

function newHand(): string {
  lastHand += 1;
  return `hand_${lastHand}`;
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "no error";
  } catch (error) {
    if (error instanceof SandboxFileError) return error.code;
    throw error;
  }
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}

function text(content: Uint8Array): string {
  return new TextDecoder().decode(content);
}

function bytes(content: string): Uint8Array {
  return new TextEncoder().encode(content);
}

function never(): AbortSignal {
  return new AbortController().signal;
}

function ignore(): void {}
