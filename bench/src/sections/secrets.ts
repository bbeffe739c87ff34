import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { InterceptingReady, Way } from "../intercepting-process.ts";
import { keepTrackOf, killChild } from "../lib/children.ts";
import { nowMs, within } from "../lib/clock.ts";
import { atLeast, atMost, distribution, rates, type Section } from "../lib/measurement.ts";
import { samplePairs } from "../lib/sampling.ts";
import type { World } from "../lib/world.ts";

const MAIN = fileURLToPath(new URL("../intercepting-process.ts", import.meta.url));
const START_MS = 20_000;
const DOWNLOAD_BYTES = 256_000_000;

/** What it costs that a secret is put into requests, and looked for in what comes back. */
export async function measureSecrets(world: World): Promise<Section> {
  const child = keepTrackOf(fork(MAIN, { stdio: ["ignore", "inherit", "inherit", "ipc"] }));
  try {
    const [ready] = (await within(
      START_MS,
      "the start of the way out",
      once(child, "message"),
    )) as [InterceptingReady];
    const { placeholder } = ready;
    using read = client(ready.read, placeholder);
    using untouched = client(ready.untouched, placeholder);
    const requests = await samplePairs(world.plan.secretRequests, untouched.ask, read.ask);
    const downloads = await samplePairs(
      world.plan.secretDownloads,
      () => download(world.folder, ready.untouched, placeholder),
      () => download(world.folder, ready.read, placeholder),
    );
    return {
      title: "Secrets put in on the way out",
      measurements: [
        distribution(
          { name: "keep-alive request, untouched", unit: "ms" },
          requests.map(({ a }) => a),
        ),
        distribution(
          { name: "keep-alive request, with a secret put into a header", unit: "ms" },
          requests.map(({ b }) => b),
        ),
        distribution(
          { name: "· over the same untouched", unit: "ms", goals: [atMost("p50", 2)] },
          requests.map(({ a, b }) => b - a),
        ),
        rates(
          { name: "download through TLS, untouched", unit: "MB/s" },
          downloads.map(({ a }) => a),
        ),
        rates(
          {
            name: "download through TLS, read and swept",
            unit: "MB/s",
            goals: [atLeast("p50", 100)],
          },
          downloads.map(({ b }) => b),
        ),
      ],
      notes: [
        "Without a sandbox: a client of this process (requests) or curl (downloads of 256 MB), the way out of the hands, and a server, each a process of its own on loopback. Untouched is the same way out without a credential for the host.",
      ],
    };
  } finally {
    await killChild(child, "SIGTERM");
  }
}

/** Asks over one connection, and gives milliseconds. */
function client({ port, authority }: Way, placeholder: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    ask: async (): Promise<number> => {
      const startMs = nowMs();
      const sent = request({
        ...{ agent, host: "127.0.0.1", port, servername: "api.test", ca: authority },
        path: "/?bytes=100",
        headers: { host: "api.test", authorization: `Bearer ${placeholder}` },
      });
      sent.end();
      const [answer] = (await once(sent, "response")) as [IncomingMessage];
      answer.resume();
      await once(answer, "end");
      return nowMs() - startMs;
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

/** Megabytes a second. */
async function download(folder: string, { port, authority }: Way, placeholder: string) {
  const authorityPath = join(folder, `authority-${port}.pem`);
  writeFileSync(authorityPath, authority);
  const startMs = nowMs();
  const curl = keepTrackOf(
    spawn(
      "curl",
      [
        ...["--silent", "--show-error", "--fail", "--http1.1", "--output", "/dev/null"],
        ...["--cacert", authorityPath, "--resolve", `api.test:${port}:127.0.0.1`],
        ...["--header", `authorization: Bearer ${placeholder}`],
        `https://api.test:${port}/?bytes=${DOWNLOAD_BYTES}`,
      ],
      { stdio: ["ignore", "ignore", "inherit"] },
    ),
  );
  const [code] = await once(curl, "exit");
  if (code !== 0) throw new Error(`curl ended with ${code}`);
  return DOWNLOAD_BYTES / 1e6 / ((nowMs() - startMs) / 1000);
}
