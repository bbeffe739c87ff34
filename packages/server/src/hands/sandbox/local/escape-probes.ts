/** What of the host a probe asks for, made by the test. */
export interface HostSide {
  /** A process of the host's that is not the sandbox's. */
  readonly pid: number;
  /** In its environment, and in a file. */
  readonly canary: string;
  readonly file: string;
  readonly tcpPort: number;
  readonly udpPort: number;
  readonly abstractName: string;
  readonly socketPath: string;
}

/** What a probe has in its environment where its answer is sure to come, however busy the machine: seconds. */
export const PATIENCE = "DROVER_PROBE_PATIENCE_S";

export interface EscapeProbe {
  readonly name: string;
  /** Says `got` if it got what it asked for, and else anything but that. */
  readonly command: (host: HostSide) => string;
  /** Namespaces of its own in which the same is allowed, so that the host is left alone; options of `unshare`. */
  readonly allowedIn?: string;
  /** Run before it there. */
  readonly prepare?: string;
  /** System call numbers are x86-64's. */
  readonly isX64?: boolean;
  /** Which network the sandbox has may make a difference. */
  readonly isNetwork?: boolean;
}

const python = (script: string) => `python3 - <<'PROBE'\n${PRELUDE}${script}\nPROBE`;
const PRELUDE = `
import ctypes, errno, fcntl, os, pty, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    ctypes.set_errno(0)
    # As whole words: of a plain number half of what the kernel reads may be what was there before.
    words = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    result = libc.syscall(ctypes.c_long(number), *words)
    print("got" if result >= 0 else errno.errorcode[ctypes.get_errno()])
def attempt(act):
    try:
        act()
        print("got")
    except OSError as error:
        print(error)
def dial(family, address):
    s = socket.socket(family)
    s.settimeout(5)
    s.connect(address)
    assert s.recv(9) == b"reached"
def ask(address):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(float(os.environ.get("${PATIENCE}", "0.5")))
    s.sendto(b"x", address)
    s.recv(9)
`;
const call = (name: string, code: string): EscapeProbe => ({
  name,
  command: () => python(code),
  isX64: true,
});
const opened = (name: string, path: string): EscapeProbe => ({
  name,
  command: () => python(`attempt(lambda: os.close(os.open("${path}", os.O_WRONLY)))`),
});

/** Gives `lo` an address, by SIOCSIFADDR (0x8916) and SIOCSIFFLAGS (0x8914). */
const address = (ip: string, port: number) => `python3 - <<'HOST'
import fcntl, os, socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 1 | 8))
fcntl.ioctl(s, 0x8916, struct.pack("16sHH4s8x", b"lo:1", 2, 0, socket.inet_aton("${ip}")))
server = socket.create_server(("${ip}", ${port}))
if os.fork() == 0:
    os.close(1)
    os.close(2)
    server.settimeout(10)
    server.accept()[0].sendall(b"reached")
    os._exit(0)
HOST`;
const remote = (name: string, ip: string, port: number): EscapeProbe => ({
  name,
  command: () => python(`attempt(lambda: dial(socket.AF_INET, ("${ip}", ${port})))`),
  allowedIn: "--net",
  prepare: address(ip, port),
  isNetwork: true,
});

/**
 * What code in a sandbox must not get. Each is also run where it is allowed, on the host or in namespaces
 * made for it, and must get it there: a probe that cannot succeed proves nothing.
 */
export const ESCAPE_PROBES: readonly EscapeProbe[] = [
  {
    name: "the environment of the host's processes",
    command: ({ canary }) =>
      `cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -q '^DROVER_CANARY=${canary}$' && echo got`,
  },
  {
    name: "a process of the host",
    command: ({ pid, canary }) =>
      `tr '\\0' '\\n' < /proc/${pid}/environ 2>/dev/null | grep -q ${canary} && kill -0 ${pid} && echo got`,
  },
  { name: "/etc/shadow", command: () => "head -c 1 /etc/shadow >/dev/null && echo got" },
  { name: "files of the installation", command: ({ file }) => `cat ${file} && echo got` },
  {
    name: "files of the installation, by the root of another process",
    command: ({ file }) =>
      `{ cat /proc/1/root${file} || cat /proc/$PPID/root${file}; } && echo got`,
  },
  {
    name: "files of the installation, by a link",
    command: ({ file }) => `ln -sfn / /tmp/probe-root; cat /tmp/probe-root${file} && echo got`,
  },
  { name: "/root", command: () => "[ -d /root ] && echo got" },
  { name: "/home", command: () => "[ -d /home ] && echo got" },
  { name: "/boot and /var/lib", command: () => "[ -d /boot ] || [ -d /var/lib ] && echo got" },
  {
    name: "a change of /usr",
    command: () => "touch /usr/local/probe && echo got",
    allowedIn: "--mount",
    prepare: "mount -t tmpfs none /usr/local",
  },
  {
    name: "a change of /etc",
    command: () => "touch /etc/probe && echo got",
    allowedIn: "--mount",
    prepare: "mount -t tmpfs none /etc",
  },
  {
    name: "a change of the root folder",
    command: () => "mkdir /probe && rmdir /probe && echo got",
  },
  {
    name: "an abstract socket of the host",
    isNetwork: true,
    command: ({ abstractName }) =>
      python(`attempt(lambda: dial(socket.AF_UNIX, "\\0${abstractName}"))`),
  },
  {
    name: "a socket file of the host",
    command: ({ socketPath }) => python(`attempt(lambda: dial(socket.AF_UNIX, "${socketPath}"))`),
  },
  {
    name: "the host's loopback",
    isNetwork: true,
    command: ({ tcpPort }) =>
      python(`attempt(lambda: dial(socket.AF_INET, ("127.0.0.1", ${tcpPort})))`),
  },
  {
    name: "the host's loopback over IPv6",
    isNetwork: true,
    command: ({ tcpPort }) => python(`attempt(lambda: dial(socket.AF_INET6, ("::1", ${tcpPort})))`),
  },
  {
    name: "the host's loopback over UDP",
    isNetwork: true,
    command: ({ udpPort }) => python(`attempt(lambda: ask(("127.0.0.1", ${udpPort})))`),
  },
  remote("the metadata of a cloud", "169.254.169.254", 80),
  remote("a private address", "10.11.12.13", 8080),
  remote("an address of the Docker bridge", "172.17.0.1", 2375),
  {
    name: "a socket to the hypervisor",
    command: () => python("attempt(lambda: socket.socket(40, socket.SOCK_STREAM).close())"),
  },
  {
    name: "a packet socket",
    isNetwork: true,
    command: () => python("attempt(lambda: socket.socket(17, socket.SOCK_RAW).close())"),
  },
  {
    name: "a raw socket",
    isNetwork: true,
    command: () => python("attempt(lambda: socket.socket(2, socket.SOCK_RAW, 1).close())"),
  },
  {
    name: "a change of the network",
    isNetwork: true,
    command: () =>
      python(
        'attempt(lambda: fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sH14x", b"lo", 0)))',
      ),
    allowedIn: "--net",
  },
  {
    name: "a mount",
    command: () => "mkdir -p /tmp/probe && mount -t tmpfs none /tmp/probe && echo got",
    allowedIn: "--mount",
  },
  { name: "a user namespace", command: () => "unshare --user true && echo got" },
  { name: "a network namespace", command: () => "unshare --net true && echo got" },
  { name: "another root folder", command: () => "chroot / /bin/true && echo got" },
  {
    name: "a device",
    command: () =>
      "mknod /tmp/probe-$$ b 7 0 && : < /tmp/probe-$$ && echo got; rm -f /tmp/probe-$$",
  },
  {
    name: "the devices of the machine",
    command: () =>
      "for d in kvm vda sda mem kmsg loop-control nvme0n1 net/tun; do ( : < /dev/$d ) && echo got && break; done",
  },
  opened("the kernel's core pattern", "/proc/sys/kernel/core_pattern"),
  opened("the kernel's caches", "/proc/sys/vm/drop_caches"),
  {
    name: "the messages of the kernel",
    command: () => "dmesg >/dev/null && echo got",
  },
  {
    name: "control groups",
    command: () =>
      "[ -e /sys/fs/cgroup/cgroup.procs ] || [ -d /sys/fs/cgroup/memory ] || [ -d /sys/fs/cgroup/unified ] && echo got",
  },
  {
    name: "another host name",
    command: () => python('n = b"probe"; call(170, n, len(n))'),
    allowedIn: "--uts",
    isX64: true,
  },
  {
    name: "typing into a terminal",
    command: () => python('m, s = pty.openpty()\nattempt(lambda: fcntl.ioctl(s, 0x5412, b"x"))'),
  },
  call("a namespace by system call", "call(272, 0x20000)"),
  call("a namespace of another", 'call(308, os.open("/proc/self/ns/uts", os.O_RDONLY), 0)'),
  call("bpf", 'call(321, 0, struct.pack("IIII56x", 2, 4, 4, 1), 72)'),
  call("perf_event_open", 'call(298, struct.pack("IIQ112x", 1, 128, 0), 0, -1, -1, 0)'),
  call("io_uring", "call(425, 1, ctypes.create_string_buffer(120))"),
  call("userfaultfd", "call(323, 0)"),
  call("keys", 'call(248, b"user", b"probe", b"x", 1, -2)'),
  call(
    "files by handle",
    'h = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 136)\ncall(303, -100, b"/", h, ctypes.byref(ctypes.c_int()), 0)',
  ),
  call(
    "the memory of a process",
    'b = ctypes.create_string_buffer(b"x"); v = struct.pack("QQ", ctypes.addressof(b), 1)\ncall(310, os.getpid(), v, 1, v, 1, 0)',
  ),
  call("the clock", "call(164, 0, 0)"),
];
