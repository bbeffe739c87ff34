import { createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SandboxNetwork } from "../../../core/ports/hands.ts";
import { type Box, startOn } from "../../../core/ports/sandbox.testsuite.ts";
import { type BubblewrapWorld, openBubblewrapWorld } from "./test-world.ts";

/** Python, so that system calls can be made that no command makes. */
const PYTHON = `
import ctypes, errno, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    ctypes.set_errno(0)
    result = libc.syscall(number, *args)
    return "done" if result >= 0 else errno.errorcode[ctypes.get_errno()]
def family(number, kind=socket.SOCK_STREAM, protocol=0):
    try:
        socket.socket(number, kind, protocol).close()
        return "made"
    except OSError as error:
        return errno.errorcode[error.errno]
`;

/** What code in a sandbox must not get. Run for every mode, with and without a way out. */
export function testEscapes(mode: string, network: SandboxNetwork): void {
  describe(`code in a sandbox (${mode}, network ${network.type})`, () => {
    let world: BubblewrapWorld;
    let box: Box;
    beforeAll(async () => {
      world = await openBubblewrapWorld();
      box = await startOn(world.provider, { network });
    });
    afterAll(async () => {
      await box[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    });
    const output = async (command: string) => (await box.sh(command)).output.trim();
    const python = async (script: string) => {
      await box.sandbox.write("/tmp/probe.py", new TextEncoder().encode(PYTHON + script));
      return await output("python3 /tmp/probe.py");
    };

    test("runs in the mode that is tested", async () => {
      const { signal } = new AbortController();
      expect((await world.provider.capabilities(signal)).mode).toBe(mode);
      expect(await output("id -u; id -g; hostname")).toBe("1000\n1000\nsandbox");
    });

    test("finds nothing of the host's environment", async () => {
      const names = await output("cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | cut -d= -f1");
      expect([...new Set(names.split("\n"))].sort()).toEqual(
        ["HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "SHLVL", "TERM", "USER", "_"].filter(
          (name) => names.split("\n").includes(name),
        ),
      );
    });

    test("sees only its own processes", async () => {
      const seen = await output("ls -d /proc/[0-9]* | wc -l");
      expect(Number(seen)).toBeLessThan(8);
      expect(await output(`kill -0 ${process.pid} 2>&1`)).toContain("No such process");
    });

    test("reads no secrets, homes or data of the host, by whatever way", async () => {
      for (const path of [
        "/etc/shadow",
        "/root",
        "/home",
        world.folder,
        "/var/lib",
        "/sys",
        "/boot",
      ]) {
        expect(await output(`ls -d ${path} 2>&1`)).toContain("No such file");
        expect(await output(`ls -d /proc/1/root${path} 2>&1`)).toMatch(/No such|denied/);
      }
      await box.sh("ln -sfn / root; ln -sf /etc/shadow s");
      expect(await output("cat root/etc/shadow s 2>&1")).toMatch(/No such[\s\S]*No such/);
      const listed = await box.sandbox.list("/workspace", 100);
      expect(listed.every(({ path }) => path.startsWith("/workspace/"))).toBe(true);
    });

    test("changes nothing outside its own folders", async () => {
      const places =
        "/usr/x /etc/x /x /dev/x /mnt/session/x /run/drover/x /proc/sys/kernel/core_pattern";
      const wrote = await output(
        `for f in ${places}; do (echo x > $f) 2>/dev/null && echo $f; done`,
      );
      expect(wrote).toBe("");
      const host = "/proc/sys/kernel/core_pattern /proc/sysrq-trigger /proc/sys/vm/drop_caches";
      expect(await output(`for f in ${host}; do [ -w $f ] && echo $f; done`)).toBe("");
    });

    test("has no capability and can gain none", async () => {
      const status = await output("grep -E 'Cap|NoNewPrivs|Seccomp:' /proc/self/status");
      const caps = [...status.matchAll(/^Cap\w+:\s+(\w+)$/gm)].map(([, value]) => value);
      expect(new Set(caps)).toEqual(new Set(["0".repeat(16)]));
      expect(status).toMatch(/NoNewPrivs:\s+1[\s\S]*Seccomp:\s+2/);
    });

    test("cannot mount, or make or enter namespaces", async () => {
      const commands = [
        "mount -t tmpfs none /tmp",
        "mount --bind /usr /tmp",
        "umount /etc",
        "unshare -Ur true",
        "unshare -n true",
        "nsenter -t 1 -a true",
        "nsenter -t 1 -U true",
        "chroot / true",
        "mknod /tmp/disk b 254 0",
        "bwrap --ro-bind / / true",
      ];
      for (const command of commands) {
        const { exitCode } = await box.sh(`${command} 2>/dev/null`);
        expect({ command, isDone: exitCode === 0 }).toEqual({ command, isDone: false });
      }
    });

    test.skipIf(process.arch !== "x64")("cannot make the refused system calls", async () => {
      const answers = await python(`
print(call(272, 0x10000000), call(308, 0, 0), call(165, 0, 0, 0, 0, 0), call(321, 0, 0, 0), call(425, 1, 0))
print(call(323, 0), call(250, 0, 0), call(298, 0, 0, 0, 0, 0), call(304, 0, 0, 0), call(438, 0, 0, 0), call(310, 1, 0, 0, 0, 0, 0))
print(call(435, 0, 0), call(0x40000000 + 39), call(56, 0x10000011, 0, 0, 0, 0))
`);
      expect(answers).toBe(
        [
          "EPERM EPERM EPERM EPERM EPERM",
          "EPERM EPERM EPERM EPERM EPERM EPERM",
          "ENOSYS ENOSYS EPERM",
        ].join("\n"),
      );
    });

    test("makes sockets of the usual families only; above all not to the hypervisor", async () => {
      const AF_VSOCK = 40;
      const families = await python(`
print(family(${AF_VSOCK}), family(${AF_VSOCK}, socket.SOCK_DGRAM), family(17, socket.SOCK_RAW), family(38), family(16, socket.SOCK_RAW, 12))
print(family(1), family(2), family(10), family(16, socket.SOCK_RAW, 0))
`);
      expect(families).toBe(
        "EAFNOSUPPORT EAFNOSUPPORT EAFNOSUPPORT EAFNOSUPPORT EAFNOSUPPORT\nmade made made made",
      );
    });

    test("reaches no listener of the host", async () => {
      const accepted: string[] = [];
      const server = createServer((socket) => {
        accepted.push("tcp");
        socket.end("reached");
      });
      const abstract = createServer((socket) => {
        accepted.push("abstract");
        socket.end("reached");
      });
      const name = `\0drover-test-${process.pid}`;
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      await new Promise<void>((resolve) => abstract.listen(name, resolve));
      try {
        const address = server.address();
        const port = typeof address === "object" ? address?.port : undefined;
        const answers = await python(`
def dial(family, address):
    s = socket.socket(family)
    s.settimeout(10)
    try:
        s.connect(address)
        return s.recv(99).decode()
    except OSError as error:
        return errno.errorcode.get(error.errno, "timeout")
print(dial(socket.AF_INET, ("127.0.0.1", ${port})), dial(socket.AF_UNIX, "\\0${name.slice(1)}"))
print(dial(socket.AF_INET, ("169.254.169.254", 80)), dial(socket.AF_INET, ("192.0.2.1", 80)))
`);
        // With a way out there is somebody to connect to, who then resets it.
        const nowhere = network.type === "none" ? "ENETUNREACH" : "ECONNRESET";
        expect(answers).toBe(`ECONNREFUSED ECONNREFUSED\n${nowhere} ${nowhere}`);
        expect(world.outside.dialled).toEqual([]);
        expect(accepted).toEqual([]);
      } finally {
        server.close();
        abstract.close();
      }
      expect(
        await output("ls /sys/class/net 2>/dev/null; tail -n +3 /proc/net/dev | cut -d: -f1"),
      ).toBe("lo");
    });

    test("cannot look into or speak for the agent", async () => {
      expect(await output("ls /proc/2/fd 2>&1")).toContain("denied");
      expect(await output("cat /proc/2/environ 2>&1; cat /proc/2/mem 2>&1")).toMatch(
        /denied[\s\S]*denied/,
      );
      expect(await python("PTRACE_ATTACH = 16\nprint(call(101, PTRACE_ATTACH, 2, 0, 0))")).toBe(
        process.arch === "x64" ? "EPERM" : expect.anything(),
      );
      expect(await output("echo x > /proc/1/fd/1; echo $?")).toMatch(/1$/);
    });

    test("inherits no descriptor", async () => {
      expect(await output("ls /proc/self/fd | tr '\\n' ' '")).toBe("0 1 2 3");
      const pid1 = await output(
        "for f in /proc/1/fd/*; do readlink $f; done | sed 's/:.*//' | sort | uniq -c",
      );
      expect(pid1.replace(/\s+/g, " ").trim()).toBe("1 anon_inode 3 socket");
    });

    test("cannot type into a terminal", async () => {
      const TIOCSTI = 0x5412;
      expect(
        await python(`
import fcntl, pty
master, slave = pty.openpty()
try:
    fcntl.ioctl(slave, ${TIOCSTI}, b"x")
    print("typed")
except OSError as error:
    print(errno.errorcode[error.errno])
`),
      ).toBe("EPERM");
      expect(await output("(: < /dev/tty) 2>&1; echo $?")).toMatch(/1$/);
    });

    test("can fork only so often, and the sandbox can still be used", async () => {
      await using bombed = await startOn(world.provider, { network });
      const bomb = await bombed.sh("bomb() { bomb | bomb & }; bomb; sleep 600", 700);
      expect(bomb.ended).toBe("timeout");
      expect((await bombed.sh("echo alive")).output).toBe("alive\n");
      const many =
        "for (1..5000) { $p = fork; last unless defined $p; $p or sleep 600; $n++ } print $n";
      expect(Number((await bombed.sh(`perl -e '${many}'`)).output)).toBeLessThan(512);
      await bombed.sandbox.restartShell();
      expect((await bombed.sh("ps ax | grep -c '[p]erl -e'")).output).toBe("0\n");
    });

    test("has small file systems in memory only", async () => {
      const sizes = await output("df -m --output=size,target -t tmpfs | tail -n +2");
      const writable = sizes.split("\n").filter((line) => /\/(tmp|shm|run)$/.test(line));
      expect(writable).toHaveLength(4);
      for (const line of writable)
        expect(Number.parseInt(line.trim(), 10)).toBeLessThanOrEqual(512);
      expect(await output("(head -c 30M /dev/zero > /run/fill) 2>&1; rm -f /run/fill")).toContain(
        "No space",
      );
    });

    test("leaves no core file", async () => {
      expect(
        await output("ulimit -c; (sh -c 'kill -SEGV $$'; true) 2>/dev/null; ls -A | grep -c core"),
      ).toBe("0\n0");
    });
  });
}
