import { createHash, randomBytes } from "node:crypto";
import { createServer as createHttpServer } from "node:http";
import { createServer, type Socket } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Outside, OWN, PUBLIC, PUBLIC_V6 } from "../../hands/egress/outside.testsuite.ts";
import type { SandboxNetwork } from "./hands.ts";
import { type Box, type SandboxWorld, startOn } from "./sandbox.testsuite.ts";

export interface NetworkWorld extends SandboxWorld {
  readonly outside: Outside;
}

const LIMITED: SandboxNetwork = {
  type: "limited",
  hosts: ["api.test", "*.wild.test", "moved.test", "db.test", "big.test", "odd.test"],
};
const BIG_BYTES = 32 * 1024 * 1024;
const AT_ONCE = 50;

/** Each says `hello` if it reached HTTP at the host, by other means and without asking for a proxy. */
const CLIENTS: Readonly<Record<string, (host: string) => string>> = {
  curl: (host) => `curl -sS -m 10 http://${host}/`,
  python: (host) =>
    `python3 -c 'import urllib.request as r; print(r.build_opener(r.ProxyHandler({})).open("http://${host}/", timeout=10).read().decode())'`,
  perl: (host) =>
    // Waits before it reads: a read of perl's does not wait on gVisor.
    `perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(PeerAddr => q(${host}), PeerPort => 80) or die $@; print $s qq(GET / HTTP/1.0\\r\\nHost: ${host}\\r\\n\\r\\n); vec(my $in, fileno $s, 1) = 1; print while select(my $ready = $in, undef, undef, 10) > 0 && sysread $s, $_, 4096'`,
  bash: (host) =>
    // The same: `cat` may find nothing yet, and say so.
    `exec 7<>/dev/tcp/${host}/80 && printf 'GET / HTTP/1.0\\r\\nHost: ${host}\\r\\n\\r\\n' >&7 && timeout 10 sh -c 'until cat <&7; do sleep 0.05; done'`,
  "curl with a proxy": (host) => `curl -sS -m 10 -x http://127.0.0.1:3128 http://${host}/`,
  "curl through a tunnel": (host) => `curl -sS -m 10 -p -x http://127.0.0.1:3128 http://${host}/`,
};

/** The network of sandboxes, run by the test of every implementation. Nothing is sent off this machine. */
export function testNetworks(name: string, open: () => Promise<NetworkWorld>): void {
  describe(`the network of ${name}`, () => {
    let world: NetworkWorld;
    let limited: Box;
    let unrestricted: Box;
    /** Limited to what nobody may reach, by its own names. */
    let misled: Box;
    beforeAll(async () => {
      world = await open();
      const { outside } = world;
      const hello = () => createHttpServer((_request, response) => void response.end("hello"));
      for (const address of [PUBLIC, PUBLIC_V6]) await outside.serve(address, 80, hello());
      for (const host of ["api.test", "a.b.wild.test", "other.test"]) outside.name(host, [PUBLIC]);
      outside.name("wild.test", [PUBLIC]);
      limited = await startOn(world.provider, { network: LIMITED });
      unrestricted = await startOn(world.provider, { network: { type: "unrestricted" } });
      misled = await startOn(world.provider, { network: MISLED });
    });
    beforeEach(() => {
      world.outside.dialled.length = 0;
      limited.sandbox.takeEgress();
      unrestricted.sandbox.takeEgress();
      misled.sandbox.takeEgress();
    });
    afterAll(async () => {
      await limited[Symbol.asyncDispose]();
      await unrestricted[Symbol.asyncDispose]();
      await misled[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    });
    const python = async (box: Box, script: string): Promise<string> => {
      await box.sandbox.write("/tmp/net.py", new TextEncoder().encode(PYTHON + script));
      return (await box.sh("python3 /tmp/net.py")).output.trim();
    };

    test("is found out by trying", async () => {
      const capabilities = await world.provider.capabilities(new AbortController().signal);
      expect(capabilities.transparentEgress).toBe(true);
    });

    test.each(Object.entries(CLIENTS))(
      "lets %s reach what is allowed, and nothing else",
      async (_, ask) => {
        expect((await limited.sh(ask("api.test"))).output).toContain("hello");
        expect((await limited.sh(ask("a.b.wild.test"))).output).toContain("hello");
        expect(world.outside.dialled).toEqual([`${PUBLIC}:80`, `${PUBLIC}:80`]);
        for (const host of ["other.test", "wild.test", "api.test.evil.test", PUBLIC]) {
          expect((await limited.sh(ask(host))).output).not.toContain("hello");
        }
        expect(world.outside.dialled).toHaveLength(2);
        expect((await unrestricted.sh(ask("other.test"))).output).toContain("hello");
        expect((await unrestricted.sh(ask(PUBLIC))).output).toContain("hello");
        expect(world.outside.dialled).toHaveLength(4);
      },
    );

    test("is also reached over IPv6, by address", async () => {
      const ask = `curl -sS -m 10 -g 'http://[${PUBLIC_V6}]/'`;
      expect((await unrestricted.sh(ask)).output).toBe("hello");
      expect((await limited.sh(ask)).output).not.toContain("hello");
    });

    test("says to a program that uses a proxy why it is refused", async () => {
      const { output } = await limited.sh(CLIENTS["curl with a proxy"]?.("other.test") ?? "");
      expect(output).toBe(
        "other.test may not be reached from this sandbox: not among the allowed hosts of the environment\n",
      );
    });

    test.each([
      ["that is not restricted", () => unrestricted],
      ["that is limited to names of them", () => limited],
      ["that is limited to them", () => misled],
    ])(
      "%s never leads to special addresses, in whatever notation, by whatever way",
      async (_, box) => {
        const { outside } = world;
        const places = [...SPECIAL, OWN];
        for (const [index, address] of places.entries())
          outside.name(`special${index}.wild.test`, [address]);
        outside.name("localhost", ["127.0.0.1", "::1"]);
        outside.name("both.wild.test", ["10.0.0.1", PUBLIC, "::1"]);
        const reached = await python(
          box(),
          `
def proxy(line):
    try:
        with socket.create_connection(("127.0.0.1", 3128), 10) as s:
            s.sendall(line.encode())
            return s.makefile().readline().split(" ")[1]
    except OSError as error:
        return "none"
def get(host, port=80):
    return proxy(f"GET http://{host}:{port}/ HTTP/1.0\\r\\n\\r\\n"), proxy(f"CONNECT {host}:{port} HTTP/1.1\\r\\n\\r\\n")
out = {}
for index, address in enumerate(${JSON.stringify(places)}):
    out[address] = [reach(f"special{index}.wild.test", 80), reach(address, 80)]
for host in ${JSON.stringify(NOTATIONS)}:
    out[host] = list(get(host))
print(json.dumps(out))
print(reach("both.wild.test", 80), get("both.wild.test"))
`,
        );
        const [table = "", control] = reached.split("\n");
        for (const [place, answers] of Object.entries<string[]>(JSON.parse(table))) {
          const isDenied = answers.every((answer) => /^(?:40[03]|refused|none)$/.test(answer));
          expect({ place, answers, isDenied }).toEqual({ place, answers, isDenied: true });
        }
        // Beside them: the same code reaches the one address of a name that may be dialled.
        expect(control).toBe("reached ('200', '200')");
        expect(new Set(outside.dialled)).toEqual(new Set([`${PUBLIC}:80`]));
      },
    );

    test("judges a name anew each time it is dialled, and dials what it judged", async () => {
      world.outside.name("odd.test", [PUBLIC], ["10.0.0.1"], ["127.0.0.1", "169.254.169.254"]);
      const ask = CLIENTS["curl"]?.("odd.test") ?? "";
      expect((await limited.sh(ask)).output).toBe("hello");
      expect((await limited.sh(ask)).output).not.toContain("hello");
      expect((await limited.sh(ask)).output).not.toContain("hello");
      expect(world.outside.dialled).toEqual([`${PUBLIC}:80`]);
    });

    test("passes on what a proxy is asked, and nothing that is for the proxy", async () => {
      const seen: unknown[] = [];
      const echo = createHttpServer((request, response) => {
        let body = "";
        request.on("data", (chunk) => {
          body += chunk;
        });
        request.on("end", () => {
          const { host, "x-own": own, "proxy-connection": hop, named } = request.headers;
          seen.push([request.method, request.url, body, host, own, hop, named]);
          response.writeHead(201, { "x-answer": "kept", "keep-alive": "timeout=1" }).end("made");
        });
      });
      await world.outside.serve("93.184.216.39", 8080, echo);
      world.outside.name("echo.wild.test", ["93.184.216.39"]);
      const sent = [
        "%s http://echo.wild.test:8080/a?b=c HTTP/1.1",
        "Host: lie.test",
        "Proxy-Connection: keep-alive",
        "Connection: named, close",
        "Named: x",
        "X-Own: y",
        "Transfer-Encoding: chunked",
        "",
        "4",
        "body",
        "0",
        "",
        "",
      ].join("\\r\\n");
      const answers = await python(
        limited,
        `
for method in ("POST", "GET"):
    s = socket.create_connection(("127.0.0.1", 3128), 10)
    s.sendall(("${sent}" % method).encode())
    answer = s.makefile().read()
    print(answer.splitlines()[0], "x-answer: kept" in answer, "timeout=1" in answer, "made" in answer)
`,
      );
      const line = "HTTP/1.1 201 Created True False True";
      expect(answers).toBe(`${line}\n${line}`);
      const rest = ["/a?b=c", "body", "echo.wild.test:8080", "y", undefined, undefined];
      expect(seen).toEqual([
        ["POST", ...rest],
        ["GET", ...rest],
      ]);
    });

    test("stands servers that do not speak HTTP as they should", async () => {
      const odd = [
        "HTTP/1.1 200 \u0001odd\u007f\r\ncontent-length: 2\r\n\r\nok",
        "HTTP/1.1 099 low\r\ncontent-length: 2\r\n\r\nok",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
        "HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
        "HTTP/1.1 200 OK\r\nx\u0001: y\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\ncut",
        `HTTP/1.1 200 OK\r\nx: ${"y".repeat(100_000)}\r\n\r\n`,
        "not HTTP at all",
        "",
      ];
      let asked = 0;
      const server = createServer((socket) => {
        socket.once("data", () => {
          socket.end(odd[asked] ?? "", "latin1");
          asked += 1;
        });
      });
      await world.outside.serve("93.184.216.40", 80, server);
      world.outside.name("bad.wild.test", ["93.184.216.40"]);
      const ask = "curl -sS -m 10 -o /dev/null -w '%{http_code} ' -x http://127.0.0.1:3128";
      const { output } = await limited.sh(
        `for i in $(seq ${odd.length}); do ${ask} http://bad.wild.test/ 2>/dev/null; done`,
      );
      const codes = output.trim().split(" ");
      expect([codes[0], codes[2], codes[6]]).toEqual(["200", "200", "200"]);
      // At once, and not when the program waits no longer.
      expect([codes[1], codes[3]]).toEqual(["502", "502"]);
      for (const index of [4, 5, 7, 8, 9]) {
        expect({ index, code: codes[index] }).toEqual({
          index,
          code: expect.stringMatching(/^(?:502|000)$/),
        });
      }
      const after = CLIENTS["curl with a proxy"]?.("api.test") ?? "";
      expect((await limited.sh(after)).output).toBe("hello");
    });

    test("judges where a redirect leads", async () => {
      const target = { to: "" };
      const moved = createHttpServer(
        (_request, response) => void response.writeHead(302, { location: target.to }).end(),
      );
      await world.outside.serve("93.184.216.35", 80, moved);
      world.outside.name("moved.test", ["93.184.216.35"]);
      const ask = (proxy = "") => `curl -sSL -m 10 ${proxy} http://moved.test/`;
      const metadata = "http://169.254.169.254/latest/meta-data/";
      const refused = [
        { box: unrestricted, to: metadata },
        { box: limited, to: metadata },
        { box: limited, to: "http://other.test/" },
        { box: limited, to: `http://${PUBLIC}/` },
      ];
      for (const { box, to } of refused) {
        target.to = to;
        for (const proxy of ["", "-x http://127.0.0.1:3128"]) {
          expect((await box.sh(ask(proxy))).output).not.toContain("hello");
        }
      }
      expect(new Set(world.outside.dialled)).toEqual(new Set(["93.184.216.35:80"]));
      target.to = "http://api.test/";
      for (const box of [unrestricted, limited]) expect((await box.sh(ask())).output).toBe("hello");
    });

    test("answers questions for names without asking anybody, and only for permitted ones", async () => {
      world.outside.asked.length = 0;
      const answers = await python(
        limited,
        `
print(ask("api.test"), ask("api.test") == ask("API.test."), ask("deep.er.wild.test"))
print(ask("api.test", 28), ask("api.test", 16), ask("other.test"), ask("wild.test"))
print(ask("c2VjcmV0.evil.test"), ask("c2VjcmV0.evil.test", 16), ask("10.0.0.1"), ask("x" * 63 + ".test"))
import os
s = udp()
for size in (0, 1, 11, 12, 13, 40, 600):
    for _ in range(20): s.sendto(os.urandom(size), ("127.0.0.53", 53))
s.sendto(question("api.test")[:-3], ("127.0.0.53", 53))
s.sendto(question("api.test")[:12] + b"\\xc0\\x0c\\0\\1\\0\\1", ("127.0.0.53", 53))
print(ask("api.test").split(".")[0])
`,
      );
      expect(answers.split("\n")).toEqual([
        expect.stringMatching(/^198\.18\.\d+\.\d+ True 198\.18\.\d+\.\d+$/),
        "nothing nothing refused refused",
        "refused refused refused refused",
        "198",
      ]);
      expect(world.outside.asked).toEqual([]);
      const told = limited.sandbox.takeEgress();
      expect(told).toContainEqual(
        expect.objectContaining({ host: "c2vjcmv0.evil.test", port: null, verdict: "refused" }),
      );
    });

    test("is TCP alone, and the host's listeners are not in it", async () => {
      const seen: string[] = [];
      const listener = createServer((socket) => {
        seen.push("tcp");
        socket.end("hello");
      });
      await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
      const at = listener.address();
      const port = typeof at === "object" ? (at?.port ?? 0) : 0;
      try {
        const answers = await python(
          unrestricted,
          `
print(reach("127.0.0.1", ${port}), reach("::1", ${port}), reach("198.18.0.1", ${port}), reach("198.18.0.1", 3129), reach("127.0.0.1", 3129), reach("198.19.9.9", 80))
def kind(*args):
    try:
        socket.socket(*args)
        return "made"
    except OSError as error:
        return errno.errorcode[error.errno]
print(kind(socket.AF_INET, socket.SOCK_RAW, 1), kind(socket.AF_INET, socket.SOCK_DGRAM, 1), kind(17, socket.SOCK_RAW))
s = udp()
for where in (("${PUBLIC}", 53), ("8.8.8.8", 53), ("224.0.0.251", 5353), ("127.0.0.1", 53)):
    try:
        s.sendto(question("api.test"), where)
        s.recv(999)
        print("answer")
    except OSError as error:
        pass
print("no answer")
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
def may(level, option):
    try:
        s = socket.socket()
        s.setsockopt(level, option, 1)
        return "may" if s.getsockopt(level, option) else "without effect"
    except OSError as error:
        return errno.errorcode[error.errno]
print(may(0, 19), may(socket.SOL_SOCKET, 36))
`,
        );
        expect(answers.split("\n")).toEqual([
          "refused refused refused refused refused refused",
          expect.stringMatching(/^(?:(?:EPERM|EACCES|EAFNOSUPPORT) ?){3}$/),
          "no answer",
          expect.stringMatching(/^(?:(?:EPERM|ENOPROTOOPT|without effect) ?){2}$/),
        ]);
        expect(seen).toEqual([]);
        expect(world.outside.dialled).toEqual([]);
      } finally {
        listener.close();
      }
      const changed = await unrestricted.sh(
        "ip link set lo down; ip route flush table local; nft flush ruleset; iptables -F; true",
      );
      expect(changed.exitCode).toBe(0);
      expect((await unrestricted.sh(CLIENTS["curl"]?.("api.test") ?? "")).output).toBe("hello");
    });

    test("still has the sandbox's own loopback", async () => {
      const serve =
        "perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(LocalAddr => q(127.0.0.1), LocalPort => 4321, Listen => 1); open(my $f, q(>), q(up)); close $f; my $c = $s->accept; print $c qq(own\\n)' & until [ -e up ]; do :; done; exec 7<>/dev/tcp/127.0.0.1/4321; timeout 10 sh -c 'until cat <&7; do sleep 0.05; done'; exec 7>&-";
      expect((await limited.sh(serve)).output).toContain("own\n");
    });

    test("passes on what a server says first, and each direction's end by itself", async () => {
      const server = createServer({ allowHalfOpen: true }, (socket) => {
        socket.write("first\n");
        let heard = "";
        socket.on("data", (chunk) => {
          heard += chunk;
        });
        socket.on("end", () => socket.end(`heard ${heard.length}\n`));
      });
      await world.outside.serve("93.184.216.36", 5432, server);
      world.outside.name("db.test", ["93.184.216.36"]);
      const answers = await python(
        limited,
        `
def talk(s):
    f = s.makefile()
    first = f.readline().strip()
    s.sendall(b"x" * 100_000)
    s.shutdown(socket.SHUT_WR)
    return first, f.read().strip()
print(talk(socket.create_connection(("db.test", 5432), 10)))
s = socket.create_connection(("127.0.0.1", 3128), 10)
s.sendall(b"CONNECT db.test:5432 HTTP/1.1\\r\\n\\r\\n")
while not s.recv(1, socket.MSG_PEEK): pass
head = b""
while not head.endswith(b"\\r\\n\\r\\n"): head += s.recv(1)
print(talk(s))
`,
      );
      expect(answers).toBe("('first', 'heard 100000')\n('first', 'heard 100000')");
    });

    test("carries much, whole, and counts it", async () => {
      const content = randomBytes(BIG_BYTES);
      const server = createHttpServer((request, response) => {
        if (request.method === "GET") return void response.end(content);
        const hash = createHash("sha256");
        request.on("data", (chunk) => hash.update(chunk));
        request.on("end", () => response.end(hash.digest("hex")));
      });
      await world.outside.serve("93.184.216.37", 80, server);
      world.outside.name("big.test", ["93.184.216.37"]);
      const sha256 = createHash("sha256").update(content).digest("hex");
      for (const proxy of ["", "-x http://127.0.0.1:3128"]) {
        limited.sandbox.takeEgress();
        const ask = `curl -sS ${proxy} http://big.test/ -o big && sha256sum big && curl -sS ${proxy} -T big http://big.test/ && rm big`;
        expect((await limited.sh(ask, 60_000)).output).toBe(`${sha256}  big\n${sha256}`);
        const [record] = limited.sandbox.takeEgress();
        expect(record).toMatchObject({
          host: "big.test",
          port: 80,
          verdict: "allowed",
          connections: 2,
        });
        expect(record?.bytes_up).toBeGreaterThanOrEqual(BIG_BYTES);
        expect(record?.bytes_down).toBeGreaterThanOrEqual(BIG_BYTES);
      }
    });

    test(`takes ${AT_ONCE} connections at once`, async () => {
      const answered = await python(
        limited,
        `
opened = [socket.create_connection(("api.test", 80), 20) for _ in range(${AT_ONCE})]
for s in opened:
    s.sendall(b"GET / HTTP/1.0\\r\\nHost: api.test\\r\\n\\r\\n")
print(sum(s.makefile("rb").read().endswith(b"hello") for s in opened))
`,
      );
      expect(answered).toBe(String(AT_ONCE));
      expect(limited.sandbox.takeEgress()).toContainEqual(
        expect.objectContaining({ host: "api.test", verdict: "allowed", connections: AT_ONCE }),
      );
    });

    test("tells what was decided, once, in bounded many words", async () => {
      await limited.sh(
        `${CLIENTS["curl"]?.("api.test")}; ${CLIENTS["curl with a proxy"]?.("other.test")}`,
      );
      await limited.sh(`curl -sS -m 5 http://${PUBLIC}:8080/; curl -sS -m 5 http://api.test:81/`);
      const base = { connections: 1, bytes_up: 0, bytes_down: 0, ms: 0, reason: null };
      const reason = "not among the allowed hosts of the environment";
      expect(limited.sandbox.takeEgress()).toEqual([
        {
          ...base,
          ...{ host: "api.test", port: 80, verdict: "allowed" },
          ...{
            bytes_up: expect.any(Number),
            bytes_down: expect.any(Number),
            ms: expect.any(Number),
          },
        },
        { ...base, host: "other.test", port: 80, verdict: "refused", reason },
        { ...base, host: PUBLIC, port: 8080, verdict: "refused", reason },
        { ...base, host: "api.test", port: 81, verdict: "failed", reason: "nobody is there" },
      ]);
      expect(limited.sandbox.takeEgress()).toEqual([]);
      await python(limited, `for i in range(400): ask(f"made-up-{i}.evil.test")`);
      const told = limited.sandbox.takeEgress();
      expect(told.length).toBeLessThan(250);
      expect(told.at(-1)).toMatchObject({ host: "*", verdict: "refused" });
    });

    test("ends with the sandbox", async () => {
      const closed = Promise.withResolvers<void>();
      const opened = Promise.withResolvers<Socket>();
      const server = createServer((socket) => {
        opened.resolve(socket);
        socket.on("close", () => closed.resolve());
      });
      await world.outside.serve("93.184.216.38", 80, server);
      world.outside.name("held.wild.test", ["93.184.216.38"]);
      const box = await startOn(world.provider, { network: LIMITED });
      await box.sh("exec 7<>/dev/tcp/held.wild.test/80");
      await opened.promise;
      await box.sandbox.close();
      await closed.promise;
      expect(box.sandbox.takeEgress()).toEqual([
        expect.objectContaining({ host: "held.wild.test", verdict: "allowed", connections: 1 }),
      ]);
      await box[Symbol.asyncDispose]();
    });

    test("tells what was done after the last call with the hand's next sandbox", async () => {
      const hand = { hand: "hand_after", network: LIMITED };
      const first = await startOn(world.provider, hand);
      await first.sh(CLIENTS["curl"]?.("api.test") ?? "");
      await first.sandbox.close();
      await using next = await startOn(world.provider, hand);
      expect(next.sandbox.takeEgress()).toMatchObject([{ host: "api.test", connections: 1 }]);
      expect(first.sandbox.takeEgress()).toEqual([]);
    });

    test("is not there without being asked for", async () => {
      await using none = await startOn(world.provider);
      for (const ask of [CLIENTS["curl"], CLIENTS["curl with a proxy"]]) {
        expect((await none.sh(ask?.("api.test") ?? "")).output).not.toContain("hello");
      }
      expect((await none.sh(`curl -sS -m 5 http://${PUBLIC}/`)).output).not.toContain("hello");
      expect(world.outside.dialled).toEqual([]);
      expect(none.sandbox.takeEgress()).toEqual([]);
    });
  });
}

/** Private, link-local, shared, loopback, multicast, cloud metadata, and IPv6 that hides them. */
const SPECIAL = [
  "10.0.0.1",
  "172.16.0.1",
  "192.168.1.1",
  "169.254.169.254",
  "100.64.0.1",
  "168.63.129.16",
  "192.0.0.1",
  "198.18.7.7",
  "224.0.0.1",
  "255.255.255.255",
  "fd00:ec2::254",
  "::ffff:10.0.0.1",
  "64:ff9b::a9fe:a9fe",
  "64:ff9b:1::a00:1",
  "2002:a00:1::1",
  "2001:0:a00:1::1",
  "::10.0.0.1",
];

/** For a proxy, which is given text: what a URL or a resolver would take for a special address. */
const NOTATIONS = [
  "127.0.0.1",
  "127.1",
  "0",
  "2130706433",
  "0x7f000001",
  "0x7f.1",
  "0177.0.0.1",
  "2852039166",
  "0xa9fea9fe",
  "169.254.43518",
  "[::1]",
  "[::]",
  "[::ffff:127.0.0.1]",
  "[::ffff:a9fe:a9fe]",
  "[64:ff9b::127.0.0.1]",
  "[2002:7f00:1::]",
  "[fe80::1]",
  "localhost",
  "LOCALHOST.",
  "127.0.0.1.",
];

const MISLED: SandboxNetwork = {
  type: "limited",
  hosts: [...SPECIAL, OWN, ...NOTATIONS, "*.wild.test"],
};

const PYTHON = `
import errno, json, socket, struct
def reach(host, port):
    """Sends a request and waits for an answer: that a connection is made says nothing here."""
    try:
        with socket.create_connection((host, port), 10) as s:
            s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
            return "reached" if s.recv(9) else "refused"
    except OSError:
        return "refused"
def udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(0.5)
    return s
def question(name, kind=1):
    labels = b"".join(bytes([len(l)]) + l.encode() for l in name.rstrip(".").split("."))
    return struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + labels + b"\\0" + struct.pack(">HH", kind, 1)
def ask(name, kind=1):
    s = udp()
    s.settimeout(5)
    s.sendto(question(name, kind), ("127.0.0.53", 53))
    answer = s.recv(999)
    code, count = answer[3] & 15, struct.unpack(">H", answer[6:8])[0]
    if code == 5: return "refused"
    return ".".join(map(str, answer[-4:])) if code == 0 and count == 1 else "nothing"
`;
