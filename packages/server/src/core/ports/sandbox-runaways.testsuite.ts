import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Box, type SandboxWorld, startOn } from "./sandbox.testsuite.ts";
import { SandboxFileError } from "./sandbox.ts";

export interface RunawaysWorld extends SandboxWorld {
  /**
   * Where a sandbox has a kernel of its own, of whose processes the machine sees nothing: answers what is left of
   * those that the live sandbox of the hand is to the machine. Throws if there is none. Absent where the machine sees
   * all processes of its sandboxes.
   */
  hostProcesses?(handId: string): () => readonly string[];
}

/** Of commands that do not end by themselves, and of those that do. */
const TIMEOUT_MS = { timeout: 400, exited: 10_000 };
/** Of those that do not end and are to say something before, for which they must have begun. */
const SAID_MS = 2_000;
/** Over its time-out: for the killing of hundreds of processes on a machine that has other things to do. */
const GRACE_MS = 5_000;
const CLOSE_MS = 8_000;

const LOOK =
  'opendir my $proc, "/proc"; for (readdir $proc) { /^\\d+$/ && open my $file, "<", "/proc/$_/cmdline" or next; local $/; print <$file> // "", "\\n" }';

interface Runaway {
  readonly name: string;
  /** Starts processes with the mark on their command lines. */
  readonly command: (mark: string) => string;
  readonly ended: "exited" | "timeout";
  readonly output?: string | RegExp;
  /** Unless it is as long as for all that end so. */
  readonly timeoutMs?: number;
  /** What it leaves makes further commands impossible, until the shell is restarted. */
  readonly isBlocking?: boolean;
}

const RUNAWAYS: readonly Runaway[] = [
  {
    name: "a background process that holds the output open",
    command: (mark) => `sleep ${mark} & echo on`,
    ended: "exited",
    output: "on\n",
  },
  {
    name: "sessions of their own",
    command: (mark) => `setsid sleep ${mark} & (setsid bash -c 'sleep ${mark}; :' &) ; echo on`,
    ended: "exited",
    output: "on\n",
  },
  {
    name: "a daemon by two forks",
    command: (mark) =>
      `perl -MPOSIX -e 'fork && exit; POSIX::setsid(); fork && exit; $SIG{$_} = "IGNORE" for qw(TERM HUP INT); sleep 1000' ${mark}; echo on`,
    ended: "exited",
    output: "on\n",
  },
  {
    name: "a deaf shell",
    command: (mark) => `trap '' TERM HUP INT QUIT; echo on; sleep ${mark}`,
    ended: "timeout",
    timeoutMs: SAID_MS,
    output: "on\n",
  },
  {
    name: "a fork bomb in the background",
    command: (mark) => `bash -c 'f() { f | f & }; f' ${mark} 2>/dev/null; echo on`,
    ended: "exited",
    output: "on\n",
    isBlocking: true,
  },
  {
    name: "a fork bomb in the foreground",
    command: (mark) => `bash -c 'f() { f | f; }; f' ${mark} 2>/dev/null`,
    ended: "timeout",
  },
  {
    name: "processes that start others as fast as they are ended",
    command: (mark) =>
      `perl -e '$first = $$; while (1) { fork; select undef, undef, undef, 0.01; exit if $$ != $first && rand() < 0.5 }' ${mark}`,
    ended: "timeout",
  },
  {
    name: "a shell that stops itself",
    command: (mark) => `sleep ${mark} & exec </dev/null; kill -STOP $$; echo never`,
    ended: "timeout",
    output: "",
  },
  {
    name: "all processes stopped but the agent",
    command: (mark) => `sleep ${mark} & kill -STOP $! $$`,
    ended: "timeout",
    output: "",
  },
  {
    name: "output that is closed",
    command: (mark) => `sleep ${mark} & exec >&- 2>&-; echo never`,
    ended: "exited",
    output: "",
  },
  {
    name: "every descriptor of the shell closed",
    command: (mark) =>
      `sleep ${mark} & for fd in $(ls /proc/$$/fd); do eval "exec $fd>&-"; done; sleep ${mark}`,
    ended: "timeout",
  },
  {
    name: "a program in place of the shell",
    command: (mark) => `exec sleep ${mark}`,
    ended: "timeout",
    output: "",
  },
  {
    name: "an environment that no program can be given",
    command: (mark) =>
      `sleep ${mark} & export X=$(head -c 3000000 /dev/zero | tr '\\0' x); echo \${#X}; ls`,
    ended: "exited",
    // The one says Linux, the other gVisor.
    output: /^3000000\n.*(?:Argument list|File name) too long/,
  },
  {
    name: "a background process that writes without end",
    // Beside nothing else that could be faster than its first words.
    command: (mark) =>
      `rm -f /tmp/said; perl -e '$| = 1; print "y\\n"; open my $said, ">", "/tmp/said"; print "y\\n" while 1' ${mark} & until [ -e /tmp/said ]; do sleep 0.01; done`,
    ended: "exited",
    output: /^y\n/,
  },
  {
    name: "a command that writes without end",
    command: (mark) => `perl -e 'print "y\\n" while 1' ${mark}`,
    ended: "timeout",
    timeoutMs: SAID_MS,
    output: /^y\n/,
  },
  {
    name: "a shell that reports nothing any more",
    command: (mark) => `sleep ${mark} & builtin() { :; }; set -n`,
    ended: "timeout",
  },
];

/** What must be true of every provider whatever a command does: it returns in time, and nothing survives. */
export function testRunaways(name: string, open: () => Promise<RunawaysWorld>): void {
  describe(`${name}: runaways`, () => {
    let world: RunawaysWorld;
    let shared: Box;
    beforeAll(async () => {
      world = await open();
      shared = await startOn(world.provider);
    });
    afterAll(async () => {
      await shared[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    });

    /** Nothing survives a time-out, so that those who come after begin as in a new sandbox. */
    const timed = RUNAWAYS.filter(({ ended }) => ended === "timeout");
    test.each(timed)("$name: the call returns in time and nothing survives", async (runaway) => {
      await returnsInTime(world, shared, runaway);
    });

    const others = RUNAWAYS.filter(({ ended }) => ended !== "timeout");
    test.each(others)(
      "$name: the call returns and nothing survives the sandbox",
      async (runaway) => {
        await using box = await startOn(world.provider);
        const isLeft = await returnsInTime(world, box, runaway);
        const closedMs = performance.now();
        await box.sandbox.close();
        expect(performance.now() - closedMs).toBeLessThan(CLOSE_MS);
        // What serves a kernel of a sandbox's own ends when it notices that this has, and nobody waits for it.
        if (world.hostProcesses) await expect.poll(isLeft).toEqual([]);
        else expect(isLeft()).toEqual([]);
      },
    );

    test.each([
      ["closed its output", "exec >&- 2>&-"],
      ["writes without end", "yes &"],
    ])("a shell that %s costs next to nothing between commands", async (_what, command) => {
      await using box = await startOn(world.provider);
      await box.sh(command);
      expect(await ticksIn(box, 1)).toBeLessThan(25);
    });

    test("a command that redirects its output does so for itself alone", async () => {
      await using box = await startOn(world.provider);
      await box.sh("exec >file 2>&1 3>three; echo kept; echo three >&3");
      expect(
        (await box.sh("echo heard; echo too >&2; echo again >&3; cat file three")).output,
      ).toBe("heard\ntoo\nkept\nthree\nagain\n");
      expect(await box.sh("exec sh -c 'echo instead; exit 4'")).toEqual({
        exitCode: 4,
        ended: "exited",
        output: "instead\n",
      });
    });

    test("a shell that ended between two commands is told of once, before anything is run", async () => {
      await using box = await startOn(world.provider);
      const killShell = async () => {
        await box.sh(
          "X=1; echo $$ > /tmp/shell; rm -f go gone; mkfifo go gone; (read x < go; kill -9 $$; echo > gone) &",
        );
        // Until the agent has been told: a command that comes before that is the dying shell's.
        const isThere = "[ -d /proc/$(cat /tmp/shell) ]";
        const wait = `cat /workspace/gone; while ${isThere}; do sleep 0.01; done`;
        await box.run("sh", "-c", `echo > /workspace/go; ${wait}`);
      };
      await killShell();
      expect(await box.sh("touch ran")).toEqual({ exitCode: null, ended: "lost", output: "" });
      expect((await box.sh('echo "[$X]"; ls')).output).toBe("[]\ngo\ngone\n");
      await killShell();
      // Whoever asks for a new one has nothing to be told.
      await box.sandbox.restartShell();
      expect((await box.sh("echo on")).output).toBe("on\n");
    });
  });
}

/**
 * That the sandbox can be used afterwards, too. Resolves with a look for what may live on until the sandbox ends, where
 * the command ended by itself.
 */
async function returnsInTime(
  world: RunawaysWorld,
  box: Box,
  runaway: Runaway,
): Promise<() => readonly string[]> {
  const mark = newMark();
  const isMarked = (line: string) => line.includes(mark);
  const onHost = () => commandLinesOfMachine().filter(isMarked);
  const marked = async () =>
    world.hostProcesses ? (await commandLinesInside(box)).filter(isMarked) : onHost();
  const startMs = performance.now();
  const { timeoutMs = TIMEOUT_MS[runaway.ended] } = runaway;
  const result = await box.sh(runaway.command(mark), timeoutMs, { keep: 1_000_000 });
  const inTimeMs = runaway.ended === "timeout" ? timeoutMs : 0;
  expect(performance.now() - startMs).toBeLessThan(inTimeMs + GRACE_MS);
  expect(result.ended).toBe(runaway.ended);
  const { output = /^/ } = runaway;
  if (typeof output === "string") expect(result.output).toBe(output);
  else expect(result.output).toMatch(output);
  // What has timed out has taken everything with it; else it may live on until the sandbox ends.
  if (result.ended !== "exited") expect(await marked()).toEqual([]);
  // Nothing can be started that would look.
  else if (runaway.isBlocking && world.hostProcesses)
    await expect.poll(() => forking(box)).toBe("EAGAIN");
  // What was forked in the background may not have become its program yet.
  else await expect.poll(marked).not.toEqual([]);
  const isLeft = world.hostProcesses?.(box.sandbox.handId) ?? onHost;
  if (runaway.isBlocking) {
    await box.sandbox.restartShell();
    expect(await marked()).toEqual([]);
  }
  expect((await box.sh("echo alive")).output).toContain("alive\n");
  return isLeft;
}

let lastMark = 0;

/** An argument that `sleep` takes for minutes and no other process of this machine has. */
function newMark(): string {
  lastMark += 1;
  return `9${process.pid}.${Date.now()}${lastMark}`;
}

/** Of all processes of this machine, those of all sandboxes too. */
function commandLinesOfMachine(): string[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      return [readFileSync(`/proc/${name}/cmdline`, "latin1")];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}

/** The same of all processes of one sandbox, as its own kernel sees them. */
async function commandLinesInside(box: Box): Promise<string[]> {
  const { exitCode, stdout } = await box.run("perl", "-e", LOOK);
  expect(exitCode).toBe(0);
  return new TextDecoder().decode(stdout).split("\n");
}

/** What becomes of a program that is to be started beside the shell. */
async function forking(box: Box): Promise<string> {
  return await box.run("true").then(
    ({ ended }) => ended,
    (error: unknown) => (error instanceof SandboxFileError ? error.code : String(error)),
  );
}

/** Hundredths of seconds of processor time that all of a sandbox uses in so many seconds, but for who looks. */
async function ticksIn(box: Box, seconds: number): Promise<number> {
  const look = "cat /proc/[0-9]*/stat";
  const { stdout } = await box.run("sh", "-c", `${look}; echo; sleep ${seconds}; ${look}`);
  const [before = 0, after = 0] = new TextDecoder().decode(stdout).split("\n\n").map(ticksOf);
  return after - before;
}

function ticksOf(stats: string): number {
  const lines = stats.split("\n").filter((line) => line !== "" && !line.includes("(cat)"));
  return lines.reduce((sum, line) => {
    const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
    return sum + Number(fields[11]) + Number(fields[12]);
  }, 0);
}
