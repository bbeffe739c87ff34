import { type AddressInfo, createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import type { BetaCloudConfigParams } from "@anthropic-ai/sdk/resources/beta/environments";
import { answer, toolCall } from "@drover/testing";
import { expect, onTestFinished, test } from "vitest";
import { Conversation, resultsOf } from "./support/conversation.ts";
import { script } from "./support/last-words.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();

/**
 * Connects with the shell's own means and waits for a word; says `reached` or why not, within seconds. That
 * a connection is made says nothing: the sandbox's way out takes each and resets it then.
 */
function knock(host: string, port: number) {
  const ask = "printf GET >&3 && read -t 4 -n 1 answer <&3 && echo reached";
  const command = `timeout 5 bash -c 'exec 3<>/dev/tcp/${host}/${port} && ${ask}' 2>&1; true`;
  return toolCall("bash", { command });
}

const PLACES: readonly [string, BetaCloudConfigParams | undefined][] = [
  ["an environment without more", undefined],
  [
    "an environment that is `unrestricted`",
    { type: "cloud", networking: { type: "unrestricted" } },
  ],
  [
    "an environment that permits everything it can name",
    {
      type: "cloud",
      networking: { type: "limited", allowed_hosts: ["localhost"], allow_package_managers: true },
    },
  ],
];

test.each(PLACES)("%s reaches nothing that listens on the host", async (_, environment) => {
  const visits: string[] = [];
  const loopback = await listenOn("127.0.0.1", visits);
  const everywhere = await listenOn("0.0.0.0", visits);
  const targets = [
    { host: "127.0.0.1", port: loopback },
    { host: "localhost", port: loopback },
    { host: "127.0.0.1", port: everywhere },
    { host: "127.0.0.1", port: Number(new URL(world().url).port) },
    ...ownAddresses().map((host) => ({ host, port: everywhere })),
  ];
  const talk = await Conversation.open(world(), { ...(environment && { environment }) });
  const calls = targets.map(({ host, port }) => knock(host, port));
  await talk.say(script(answer(...calls), answer("done")));
  const results = resultsOf(await talk.afterTurns(1));
  expect(results).toHaveLength(targets.length);
  expect(results.filter(({ text }) => text.includes("reached"))).toEqual([]);
  expect(visits).toEqual([]);
});

test("the check above can fail: a listener inside of the sandbox is reached", async () => {
  const talk = await Conversation.open(world());
  const serve =
    "perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(LocalAddr => q(127.0.0.1), LocalPort => 4321, Listen => 1); print qq(up\\n); open(my $f, q(>), q(up)); close $f; my $c = $s->accept; print $c qq(hello)' & until [ -e up ]; do :; done";
  await talk.say(
    script(answer(toolCall("bash", { command: serve }), knock("127.0.0.1", 4321)), answer("done")),
  );
  expect(resultsOf(await talk.afterTurns(1)).at(-1)?.text).toContain("reached");
});

test("the only network of a sandbox is its own loopback, and it shares no socket with the host", async () => {
  const talk = await Conversation.open(world());
  const look = "cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' '; wc -l < /proc/net/unix";
  await talk.say(script(answer(toolCall("bash", { command: look })), answer("done")));
  const [result] = resultsOf(await talk.afterTurns(1));
  expect(result?.text.split("\n")).toEqual(["lo", "1"]);
});

async function listenOn(host: string, visits: string[]): Promise<number> {
  const server: Server = createServer();
  server.on("connection", (socket) => {
    visits.push(host);
    socket.end("hello");
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  onTestFinished(() => {
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses
      .filter(({ family, internal }) => family === "IPv4" && !internal)
      .map(({ address }) => address),
  );
}
