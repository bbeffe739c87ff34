import { createServer } from "node:net";
import { CERTIFICATE, GitHost } from "@drover/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { EchoServer } from "../../hands/egress/echo-server.testsuite.ts";
import { PUBLIC } from "../../hands/egress/outside.testsuite.ts";
import { SandboxAuthority } from "../../hands/egress/trust/sandbox-authority.ts";
import { ScriptedCredentials } from "../../hands/fake/scripted-credentials.ts";
import { sandboxSecrets } from "../../hands/runtime/sandbox-secrets.ts";
import { type Box, startOn } from "./sandbox.testsuite.ts";
import type { NetworkWorld } from "./sandbox-network.testsuite.ts";
import type { VariableOffer } from "./session-credentials.ts";

const KEY = `drover-secret-${"k".repeat(32)}`;
const SECRET = "s3cret/with+signs=and-more";
const STRANGER = `drover-secret-${"x".repeat(32)}`;
const STARS = "*".repeat(SECRET.length);

const OFFER: VariableOffer = {
  type: "environment_variable",
  credential_id: "vcred_key",
  vault_id: "vlt_1",
  secret_name: "API_KEY",
  placeholder: KEY,
  allowed_hosts: ["api.test", "*.wild.test", "old.test"],
  injection_location: { header: true, body: true },
};

/** Programs that ask `https://api.test/echo` with the variable in the header `x-key`, and print the answer. */
const CLIENTS: Readonly<Record<string, string>> = {
  "curl, HTTP/2": 'curl -sS -m 10 --http2 -H "x-key: $API_KEY" https://api.test/echo',
  "curl, HTTP/1.1": 'curl -sS -m 10 --http1.1 -H "x-key: $API_KEY" https://api.test/echo',
  "curl through a tunnel":
    'curl -sS -m 10 -x http://127.0.0.1:3128 -H "x-key: $API_KEY" https://api.test/echo',
  python3: `python3 -c 'import os, urllib.request as r; print(r.build_opener(r.ProxyHandler({})).open(r.Request("https://api.test/echo", headers={"x-key": os.environ["API_KEY"]}), timeout=10).read().decode())'`,
  node: `node -e 'require("https").get("https://api.test/echo", {headers: {"x-key": process.env.API_KEY}}, (r) => r.pipe(process.stdout))'`,
  go: `mkdir -p /tmp/ask && cd /tmp/ask && cat > ask.go <<'END'
package main

import ("fmt"; "io"; "net/http"; "os")

func main() {
	asked, _ := http.NewRequest("GET", "https://api.test/echo", nil)
	asked.Header.Set("x-key", os.Getenv("API_KEY"))
	answer, err := http.DefaultClient.Do(asked)
	if err != nil { fmt.Println(err); os.Exit(1) }
	io.Copy(os.Stdout, answer.Body)
}
END
GOCACHE=/tmp/go-cache GO111MODULE=off go run ask.go`,
  java: `cat > /tmp/Ask.java <<'END'
import java.net.URI;
import java.net.http.*;
public class Ask {
  public static void main(String[] given) throws Exception {
    var asked = HttpRequest.newBuilder(URI.create("https://api.test/echo")).header("x-key", System.getenv("API_KEY")).build();
    System.out.println(HttpClient.newHttpClient().send(asked, HttpResponse.BodyHandlers.ofString()).body());
  }
}
END
java -XX:TieredStopAtLevel=1 /tmp/Ask.java`,
};

/** What is put into the requests of sandboxes, run by the test of every implementation. */
export function testSecrets(
  name: string,
  open: () => Promise<NetworkWorld>,
  protocols: readonly string[] = ["--http2", "--http1.1"],
): void {
  describe(`the secrets of ${name}`, () => {
    const authority = new SandboxAuthority();
    const credentials = new ScriptedCredentials();
    const echo = new EchoServer();
    /** Of the host that no credential is for, and trusted by nobody. */
    const stranger = new SandboxAuthority();
    let world: NetworkWorld;
    let git: GitHost;
    let box: Box;
    beforeAll(async () => {
      world = await open();
      const { outside } = world;
      git = await GitHost.start();
      outside.certificates = authority.pem + CERTIFICATE;
      outside.name("mcp.test", ["93.184.216.44"]);
      outside.lead("93.184.216.44", git.port, git.port);
      await outside.serve(PUBLIC, 80, echo.plain());
      await outside.serve("93.184.216.43", 443, echo.secure(stranger.identityOf("free.test")));
      await outside.serve("93.184.216.43", 80, echo.plain());
      outside.name("free.test", ["93.184.216.43"]);
      await outside.say(PUBLIC, 22, "SSH-2.0-server\r\n");
      await outside.serve(
        PUBLIC,
        7,
        createServer((socket) => socket.pipe(socket)),
      );
      const hosts = {
        "api.test": PUBLIC,
        "old.test": "93.184.216.41",
        "a.wild.test": "93.184.216.42",
      };
      for (const [host, address] of Object.entries(hosts)) {
        outside.name(host, [address]);
        const server = echo.secure(authority.identityOf(host), { http2: host !== "old.test" });
        await outside.serve(address, 443, server);
      }
      credentials.set(OFFER, SECRET);
      box = await startOn(world.provider, {
        network: { type: "unrestricted" },
        secrets: sandboxSecrets(credentials),
      });
    });
    beforeEach(() => {
      credentials.set(OFFER, SECRET);
      credentials.unavailable = undefined;
      echo.seen.length = 0;
    });
    afterAll(async () => {
      await box[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
      await git[Symbol.asyncDispose]();
    });
    const output = async (command: string) => (await box.sh(command, 60_000)).output;

    test("are placeholders inside, in the environment of every program", async () => {
      expect(await output('echo "$API_KEY"')).toBe(`${KEY}\n`);
      const { stdout } = await box.run("/usr/bin/env");
      expect(Buffer.from(stdout).toString()).toContain(`API_KEY=${KEY}\n`);
    });

    test.for(Object.entries(CLIENTS))(
      "reach the server of %s, and not the client",
      async ([client, ask], { skip }) => {
        const [program = ""] = client.split(/[ ,]/);
        if ((await box.sh(`command -v ${program}`)).exitCode !== 0) {
          return skip(`there is no ${program} here`);
        }
        const said = await output(ask);
        expect(said).toContain(STARS);
        expect(said).not.toContain(SECRET);
        expect(echo.last.headers["x-key"]).toBe(SECRET);
      },
    );

    test("reach it also of a program whose environment was emptied, where the machine has a list of authorities", async ({
      skip,
    }) => {
      if ((await box.sh("test -f /etc/ssl/certs/ca-certificates.crt")).exitCode !== 0) {
        return skip("there is no such list here");
      }
      const said = await output(`env -i curl -sS -m 10 -H "x-key: ${KEY}" https://api.test/echo`);
      expect(said).toContain(STARS);
      expect(echo.last.headers["x-key"]).toBe(SECRET);
    });

    describe.each(protocols)("by curl %s", (protocol) => {
      const curl = (rest: string) => output(`curl -sS -m 20 ${protocol} ${rest}`);

      test("are put into headers and bodies, and nowhere else", async () => {
        await curl(
          `-X POST -H "$API_KEY: name" -H "a: <$API_KEY>" -H "b: $API_KEY $API_KEY" -d "x=$API_KEY&y=1" "https://api.test/$API_KEY?q=$API_KEY"`,
        );
        const { path, headers, body } = echo.last;
        expect(path).toBe(`/${KEY}?q=${KEY}`);
        expect(headers[KEY]).toBe("name");
        expect([headers["a"], headers["b"]]).toEqual([`<${SECRET}>`, `${SECRET} ${SECRET}`]);
        expect(body).toBe(`x=${SECRET}&y=1`);
        expect(headers["content-length"]).toBe(String(body.length));
      });

      test("are put into a name and a password that are written in base64", async () => {
        await curl(`-u "user:$API_KEY" https://api.test/`);
        const pair = Buffer.from(`user:${SECRET}`).toString("base64");
        expect(echo.last.headers["authorization"]).toBe(`Basic ${pair}`);
      });

      test("are put only where the credential says", async () => {
        credentials.set({ ...OFFER, injection_location: { header: true, body: false } }, SECRET);
        await curl(`-H "a: $API_KEY" -d "$API_KEY" https://api.test/`);
        expect([echo.last.headers["a"], echo.last.body]).toEqual([SECRET, KEY]);
        credentials.set({ ...OFFER, injection_location: { header: false, body: true } }, SECRET);
        await curl(`-H "a: $API_KEY" -d "$API_KEY" https://api.test/`);
        expect([echo.last.headers["a"], echo.last.body]).toEqual([KEY, SECRET]);
      });

      test("are put only into the requests that the credential is bound to", async () => {
        const binding = { methods: ["GET"], paths: ["/v1/items", "/v1/items/*"] };
        credentials.set({ ...OFFER, binding }, SECRET);
        const sent = async (rest: string) => {
          await curl(`--path-as-is -H "a: $API_KEY" ${rest}`);
          return echo.last.headers["a"];
        };
        expect(await sent("https://api.test/v1/items?x=1")).toBe(SECRET);
        expect(await sent("https://api.test/v1/items/5")).toBe(SECRET);
        for (const path of ["/v1/other", "/v1/items/", "/v1/items/../x", "/v1/items/%2e%2e/x"]) {
          expect([path, await sent(`https://api.test${path}`)]).toEqual([path, KEY]);
        }
        expect(await sent("-X DELETE https://api.test/v1/items/5")).toBe(KEY);
        expect(await sent('-H "x-http-method-override: DELETE" https://api.test/v1/items/5')).toBe(
          KEY,
        );
      });

      test("are put into bodies of any size, also without a known one", async () => {
        const make = `perl -e 'print "x" x 3_000_000, $ENV{API_KEY}, "y" x 10'`;
        const whole = `${"x".repeat(3_000_000)}${SECRET}yyyyyyyyyy`;
        const to = "-o /dev/null -H 'expect:' https://api.test/";
        await output(`${make} > /tmp/large`);
        await curl(`--data-binary @/tmp/large ${to}`);
        expect(echo.last.body === whole).toBe(true);
        await output(`cat /tmp/large | curl -sS -m 20 ${protocol} -T - ${to}`);
        expect([echo.last.method, echo.last.body === whole]).toEqual(["PUT", true]);
      });

      test("are masked in what comes back, however it is written and cut", async () => {
        await curl(`-H "x-key: $API_KEY" https://api.test/`);
        for (const path of ["gzip", "br"]) {
          const said = await curl(`-H "x-key: $API_KEY" https://api.test/${path}`);
          expect(JSON.parse(said)).toMatchObject({ headers: { "x-key": STARS } });
        }
        const header = await curl(`-i -H "x-key: $API_KEY" https://api.test/header`);
        expect(header).toContain(`x-echo: ${STARS}`);
        const forms = [
          SECRET,
          Buffer.from(SECRET).toString("base64"),
          Buffer.from(`:${SECRET}`).toString("base64url"),
          Buffer.from(SECRET).toString("hex"),
          encodeURIComponent(SECRET),
        ];
        await box.sandbox.write("/tmp/forms", Buffer.from(`<${forms.join("> <")}>`));
        const said = await curl("--data-binary @/tmp/forms https://api.test/bytes");
        expect(said.length).toBe(`<${forms.join("> <")}>`.length);
        expect(said).toMatch(/^<\*{26}> <\*{34}..> <..\*{33}.> <\*{52}> <\*+>$/);
        expect(await curl('-w "%{http_code}" https://api.test/odd')).toMatch(/compress[\s\S]*502$/);
      });

      test("come and go with the session's credentials", async () => {
        const sent = async () => {
          // Without a credential it is the server's own certificate again, which nobody here trusts.
          await curl(`-k -H "a: $API_KEY" https://api.test/`);
          return echo.last.headers["a"];
        };
        expect(await sent()).toBe(SECRET);
        credentials.set(OFFER, "rotated-secret");
        expect(await sent()).toBe("rotated-secret");
        credentials.remove("vcred_key");
        expect(await sent()).toBe(KEY);
      });

      test("are not there while nobody can be asked, and nothing goes out instead", async () => {
        await curl("https://api.test/");
        echo.seen.length = 0;
        credentials.unavailable = "no server answers";
        const said = await curl(`-w "%{http_code}" -H "a: $API_KEY" https://api.test/`);
        expect(said).toMatch(/no server answers[\s\S]*502$/);
        expect(echo.seen).toEqual([]);
        // A host that nothing was for needs nobody.
        expect(await output("curl -sSk -m 10 https://free.test/")).toContain('"path":"/"');
      });

      test("that no header can hold are refused in words", async () => {
        credentials.set(OFFER, "two\nlines");
        const said = await curl(`-w "%{http_code}" -H "a: $API_KEY" https://api.test/`);
        expect(said).toMatch(/cannot stand in the header a[\s\S]*502$/);
        expect(echo.seen).toEqual([]);
      });

      test("are for a server of either protocol", async () => {
        for (const [host, version] of [
          ["old.test", "1.1"],
          ["a.wild.test", protocol === "--http2" ? "2.0" : "1.1"],
        ]) {
          await curl(`-H "a: $API_KEY" -d "$API_KEY" https://${host}/`);
          const { headers, body } = echo.last;
          expect([echo.last.version, headers["a"], body]).toEqual([version, SECRET, SECRET]);
        }
      });

      test("are not for whom the client names instead", async () => {
        await curl(`-H "host: elsewhere.test" -H "a: $API_KEY" https://api.test/`);
        expect(echo.last.headers["a"]).toBe(KEY);
      });

      test("are not those of another session", async () => {
        await curl(`-H "a: ${STRANGER}" https://api.test/`);
        expect(echo.last.headers["a"]).toBe(STRANGER);
      });
    });

    test.each(["", "-x http://127.0.0.1:3128"])(
      "are put into plain requests: curl %s",
      async (proxy) => {
        const said = await output(
          `curl -sS -m 10 ${proxy} -H "a: $API_KEY" -d "$API_KEY" "http://api.test/x?y=z"`,
        );
        const { headers, body, path } = echo.last;
        expect([headers["a"], body, path]).toEqual([SECRET, SECRET, "/x?y=z"]);
        expect(said).not.toContain(SECRET);
        await output(`curl -sS -m 10 ${proxy} -H "a: $API_KEY" http://free.test/`);
        expect(echo.last.headers["a"]).toBe(KEY);
      },
    );

    test("are put into plain requests that offer another protocol, which is not taken up", async () => {
      const said = await output(
        `curl -sS -m 10 --http2 -w "%{http_version} %{http_code}" -H "a: $API_KEY" http://api.test/x`,
      );
      expect(said).toMatch(/1\.1 200$/);
      expect([echo.last.headers["a"], echo.last.headers["upgrade"]]).toEqual([SECRET, undefined]);
    });

    test("leave connections to other hosts as they are, with their servers' own certificates", async () => {
      const certificate = await output(
        `python3 -c 'import ssl; print(ssl.get_server_certificate(("free.test", 443)))'`,
      );
      expect(certificate.trim()).toBe(stranger.identityOf("free.test").cert.trim());
      await output(`curl -sSk -m 10 -H "a: $API_KEY" https://free.test/`);
      expect(echo.last.headers["a"]).toBe(KEY);
    });

    test("leave what is neither TLS nor HTTP as it is", async () => {
      // On gVisor `cat` may find nothing yet, and say so.
      const hear = "timeout 10 sh -c 'until cat <&7; do sleep 0.05; done' 2>/dev/null";
      const said = await output(`exec 7<>/dev/tcp/api.test/22 && ${hear}`);
      expect(said).toBe("SSH-2.0-server\r\n");
      const raw = await output(
        'exec 7<>/dev/tcp/api.test/7 && echo "raw $API_KEY" >&7 && IFS= read -r -t 10 -u 7 said; echo "$said"',
      );
      expect(raw).toBe(`raw ${KEY}\n`);
    });

    test("are put into the request for a websocket, and masked in what comes over it", async () => {
      await output('curl -sS -H "x: $API_KEY" https://api.test/');
      await box.sandbox.write("/tmp/ws.py", Buffer.from(WEBSOCKET));
      for (const scheme of ["ws", "wss"]) {
        const said = await output(`python3 /tmp/ws.py ${scheme} '${SECRET}'`);
        expect(said).toBe(`key ${STARS}\nsaid ${STARS}\nsaid ${"s"}\n`);
        expect(echo.last.headers["x-key"]).toBe(SECRET);
        expect(echo.last.headers["sec-websocket-extensions"]).toBeUndefined();
      }
    });

    test("are recorded like everything that goes out, without any of them", async () => {
      box.sandbox.takeEgress();
      await output(`curl -sS -m 10 -H "a: $API_KEY" https://api.test/`);
      const told = box.sandbox.takeEgress();
      expect(told).toContainEqual(
        expect.objectContaining({
          host: "api.test",
          port: 443,
          verdict: "allowed",
          connections: 1,
        }),
      );
      expect(told.find(({ port }) => port === 443)?.bytes_up).toBeGreaterThan(500);
      expect(JSON.stringify(told)).not.toContain(SECRET);
      expect(credentials.uses.at(-1)).toEqual({
        id: "vcred_key",
        host: "api.test",
        purpose: "egress",
      });
    });

    test("of a repository are added to git's own requests", async () => {
      const url = git.url("acme/tools", "mcp.test");
      git.repository("acme/tools", { README: "hello\n" });
      git.repository("acme/other", { README: "other\n" });
      git.tokens.set("acme/other", { takes: "ghp_other" });
      git.tokens.set("acme/tools", { takes: "ghp_first" });
      credentials.set({ type: "repository", resource_id: "sesrsc_1", url }, "ghp_first");
      const cloned = await output(`cd /tmp && git clone -q ${url} tools && cat tools/README`);
      expect(cloned).toBe("hello\n");
      git.tokens.set("acme/tools", { takes: "ghp_second" });
      credentials.set({ type: "repository", resource_id: "sesrsc_1", url }, "ghp_second");
      const pushed = await output(
        "cd /tmp/tools && git checkout -q -b topic && echo more > more && git add . && git -c user.name=x -c user.email=x@y commit -qm more && git push -q origin topic && git remote -v && cat .git/config",
      );
      expect(git.git("acme/tools", "show", "topic:more")).toBe("more");
      expect(pushed).not.toMatch(/ghp_|x-access-token/);
      const other = await output(`git clone -q ${git.url("acme/other", "mcp.test")} 2>&1`);
      expect(other).toMatch(/could not read Username|terminal prompts disabled/);
    });

    test("have an authority that no other sandbox has, whose key is nowhere inside", async () => {
      await using second = await startOn(world.provider, {
        network: { type: "unrestricted" },
        secrets: sandboxSecrets(credentials),
      });
      const own = await output("cat /run/drover/trust/sandbox-authority.crt");
      const others = (await second.sh("cat /run/drover/trust/sandbox-authority.crt")).output;
      expect(own).toContain("BEGIN CERTIFICATE");
      expect(others).not.toBe(own);
      expect(await output("grep -rl 'PRIVATE KEY' /run/drover")).toBe("");
      expect(await output("echo x >> /run/drover/trust/ca-certificates.crt 2>&1")).toMatch(
        /denied|Read-only/,
      );
    });

    test("are nothing to a sandbox without a network but placeholders", async () => {
      await using alone = await startOn(world.provider, { secrets: sandboxSecrets(credentials) });
      expect((await alone.sh('echo "$API_KEY $SSL_CERT_FILE"')).output).toBe(`${KEY} \n`);
    });
  });
}

/** Says the variable in a header, then two words over the websocket, and prints the three answers. */
const WEBSOCKET = `
import os, socket, ssl, sys
scheme, secret = sys.argv[1], sys.argv[2]
s = socket.create_connection(("api.test", 443 if scheme == "wss" else 80), 10)
if scheme == "wss": s = ssl.create_default_context().wrap_socket(s, server_hostname="api.test")
s.sendall(("GET /chat HTTP/1.1\\r\\nHost: api.test\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\nSec-WebSocket-Extensions: permessage-deflate\\r\\nX-Key: " + os.environ["API_KEY"] + "\\r\\n\\r\\n").encode())
f = s.makefile("rb")
assert b" 101 " in f.readline()
while f.readline().strip(): pass
def hear():
    length = f.read(2)[1]
    print(f.read(length).decode(), flush=True)
def say(text):
    s.sendall(bytes([0x81, 0x80 | len(text)]) + b"abcd" + bytes(b ^ b"abcd"[i % 4] for i, b in enumerate(text.encode())))
hear()
say(secret)
hear()
say("s")
hear()
`;
