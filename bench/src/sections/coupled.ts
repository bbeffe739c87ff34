import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { toFile } from "@anthropic-ai/sdk";
import { CERTIFICATE, GitHost, Random } from "../../../packages/testing/src/index.ts";
import { nowMs } from "../lib/clock.ts";
import { atMost, distribution, mean, type Section } from "../lib/measurement.ts";
import { MODEL_ID } from "../lib/model.ts";
import { BIG_PACKAGES, type PipIndex, pinOf, startPipIndex } from "../lib/pip-index.ts";
import { samplePairs } from "../lib/sampling.ts";
import type { Server } from "../lib/server.ts";
import { untilIdle } from "../lib/sessions.ts";
import { textOf } from "../lib/turn.ts";
import type { World } from "../lib/world.ts";

/** Until the model's own first token. */
const MODEL_MS = 1_000;
const ANSWER = [
  {
    content: [{ type: "text" as const, text: "A few words. ".repeat(4) }],
    pacing: { firstMs: MODEL_MS },
  },
];
const REPOSITORY = "owner/project";
const REPOSITORY_FILES = 2_000;
const REPOSITORY_FILE_BYTES = 8_000;
const FILES = 3;
const FILE_BYTES = 512 * 1024;
/** The layer of every other session is there already. */
const WARM = "drover-warm";

/** A server, and what sessions on it are made of. */
interface Side {
  readonly server: Server;
  readonly agent: string;
  readonly warmEnvironment: string;
  readonly files: readonly string[];
}

/**
 * From a message to the first token, where the session's sandbox is made when it is needed and where it is
 * made first, by the same server and through the same API.
 */
export async function measureCoupled(world: World): Promise<Section> {
  await using git = await GitHost.start();
  await using index = await startPipIndex();
  git.repository(REPOSITORY, repositoryFiles());
  const url = git.url(REPOSITORY);
  await using decoupled = await startSide(world, index, false);
  await using coupled = await startSide(world, index, true);
  const pairs = await samplePairs(
    world.plan.coupled,
    (n) => firstToken(decoupled, { url, label: `decoupled-${n}` }),
    (n) => firstToken(coupled, { url, label: `coupled-${n}` }),
  );
  const now = distribution(
    { name: "first token, the sandbox made when it is needed", unit: "ms" },
    pairs.map(({ a }) => a),
  );
  const before = distribution(
    { name: "first token, the sandbox made before the model is asked", unit: "ms" },
    pairs.map(({ b }) => b),
  );
  const ratio = (statistic: "p50" | "p95") => now[statistic] / before[statistic];
  const share = (first: number) => (100 * MODEL_MS) / first;
  const n = pairs.length;
  const times = { unit: "×" };
  const percent = { unit: "%" };
  return {
    title: "Decoupled against coupled",
    measurements: [
      now,
      before,
      mean(
        { ...times, name: "median ÷ the other's median", goals: [atMost("p50", 0.4)] },
        n,
        ratio("p50"),
      ),
      mean(
        { ...times, name: "95th percentile ÷ the other's", goals: [atMost("p50", 0.1)] },
        n,
        ratio("p95"),
      ),
      mean({ ...percent, name: "· the model's share of the median" }, n, share(now.p50)),
      mean({ ...percent, name: "· of the other's median" }, n, share(before.p50)),
      mean({ ...percent, name: "· of the other's 95th percentile" }, n, share(before.p95)),
    ],
    notes: [
      `From the call of \`send\` to the first delta on the stream. The model takes ${MODEL_MS} ms to its first token. Each session is new: ${FILES} files of ${FILE_BYTES / 1024} KB, a clone of a repository with ${REPOSITORY_FILES} files of ${REPOSITORY_FILE_BYTES / 1000} KB, and three packages from an index on this machine, two of which are as big as numpy, whose layer is there already for every other session and is built for the rest.`,
      "Both are the same build; the second has a switch for this benchmark that sends a command to the sandbox before the first request to the model. Network, index and git host are on loopback: a real clone and real registries make the second slower.",
    ],
  };
}

async function startSide(
  world: World,
  index: PipIndex,
  isCoupled: boolean,
): Promise<Side & AsyncDisposable> {
  const name = isCoupled ? "coupled" : "decoupled";
  const data = world.newDataFolder(name);
  const certificates = join(world.folder, `${name}-authorities.pem`);
  writeFileSync(certificates, CERTIFICATE);
  const server = await world.startServer({
    data,
    settings: {
      DROVER_EGRESS_ALLOW: "127.0.0.1",
      DROVER_PACKAGES_PIP: index.url,
      NODE_EXTRA_CA_CERTS: certificates,
      ...(isCoupled && { DROVER_TEST_COUPLED: "true" }),
    },
  });
  const { beta } = server.client;
  const agent = await beta.agents.create({
    name: "benchmark",
    model: MODEL_ID,
    tools: [{ type: "agent_toolset_20260401" }],
  });
  const files: string[] = [];
  for (let number = 0; number < FILES; number += 1) {
    const file = await toFile(Buffer.alloc(FILE_BYTES, number), `data-${number}.bin`);
    files.push((await beta.files.upload({ file })).id);
  }
  return {
    server,
    agent: agent.id,
    warmEnvironment: await environment(server, WARM),
    files,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function environment({ client }: Server, pip: string): Promise<string> {
  const made = await client.beta.environments.create({
    name: `with ${pip}`,
    config: {
      type: "cloud",
      packages: { type: "packages", pip: [...BIG_PACKAGES, pip].map(pinOf) },
    },
  });
  return made.id;
}

let sessions = 0;

async function firstToken(
  { server, agent, warmEnvironment, files }: Side,
  { url, label }: { url: string; label: string },
): Promise<number> {
  const { beta } = server.client;
  sessions += 1;
  const number = Number(label.split("-").at(-1));
  const isWarm = number % 2 === 0;
  const environment_id = isWarm
    ? warmEnvironment
    : await environment(server, `drover-cold-${sessions}`);
  const session = await beta.sessions.create({
    agent,
    environment_id,
    resources: [
      { type: "github_repository", url, authorization_token: "not-needed" },
      ...files.map((file_id) => ({ type: "file" as const, file_id })),
    ],
  });
  const stream = await beta.sessions.events.stream(session.id, { event_deltas: ["agent.message"] });
  let firstMs: number | undefined;
  const over = untilIdle(stream, label, (event) => {
    if (event.type === "event_delta") firstMs ??= nowMs();
  });
  const text = textOf({ label, answers: ANSWER });
  const startMs = nowMs();
  await beta.sessions.events.send(session.id, {
    events: [{ type: "user.message", content: [{ type: "text", text }] }],
  });
  await over;
  if (firstMs === undefined) throw new Error("no delta was shown");
  await beta.sessions.delete(session.id);
  return firstMs - startMs;
}

function lines(random: Random): string {
  let text = "";
  while (text.length < REPOSITORY_FILE_BYTES) {
    text += `export const VALUE${random.int(0, 1e9)} = ${random.int(0, 1e9)};\n`;
  }
  return text;
}

function repositoryFiles(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Array.from({ length: REPOSITORY_FILES }, (_, number) => [
      `src/part-${number % 20}/file-${number}.ts`,
      lines(new Random(number)),
    ]),
  );
}
