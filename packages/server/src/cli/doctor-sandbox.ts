import { join } from "node:path";
import type { Config } from "../config.ts";
import type { Recipe } from "../core/ports/hands.ts";
import type {
  Outfit,
  ProvisionRequest,
  Sandbox,
  SandboxCapabilities,
} from "../core/ports/sandbox.ts";
import type { ProviderName } from "../core/sandboxes/providers.ts";
import { BaseStore } from "../hands/base/base-store.ts";
import { findBase } from "../hands/base/find-base.ts";
import type { LocalProvider } from "../hands/sandbox/local/local-provider.ts";
import { openProvider } from "../hands/sandbox/open-provider.ts";
import { type Finding, fault, good, limit } from "./doctor-finding.ts";
import { failureSentence } from "./failure.ts";

const PATIENCE_MS = 60_000;
const COMMAND_MS = 20_000;
const OUTPUT_BYTES_MAX = 64 * 1024;
const MB = 1024 * 1024;
const REMEDY =
  "run the server as root, or in a control group that is delegated to it (see docs/limits.md)";

/** Runs a real sandbox of each provider and tries, from inside, what must not be possible. */
export async function examineSandbox(config: Config, folder: string): Promise<Finding[]> {
  const base = examineBase(config);
  if (base.finding.verdict === "fault") return [base.finding];
  const provider = openProvider(config, {
    dataFolder: folder,
    blobPath: (workspaceId, sha256) => join(folder, workspaceId, sha256),
  });
  const findings: Finding[] = [base.finding];
  for (const name of provider.names) {
    if (provider.names.length > 1) findings.push(good("provider", name));
    findings.push(...(await examineProvider(config, provider, { name, outfit: base.outfit })));
  }
  return findings;
}

async function examineProvider(
  config: Config,
  provider: LocalProvider,
  { name, outfit }: { name: ProviderName; outfit: Outfit | undefined },
): Promise<Finding[]> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const recipe: Recipe = {
    provider: name,
    base: { type: "host" },
    mounts: [],
    network: { type: "none" },
  };
  const place = { workspaceId: "doctor", handId: `hand_doctor_${name}`, recipe };
  const request = { ...place, ...(outfit !== undefined && { outfit }) };
  try {
    const start = performance.now();
    const sandbox = await provider.provision(request, signal);
    const first = await run(sandbox, "echo ready", signal);
    if (first !== "ready\n") return [fault("sandbox", `a command said ${JSON.stringify(first)}`)];
    const ms = Math.round(performance.now() - start);
    return [
      good("sandbox", `made by ${name}, and a command run, in ${ms} ms`),
      ...(await tryToGetOut(sandbox, signal)),
      repositories(await run(sandbox, "git --version 2>/dev/null", signal)),
      ...(await shortcomings(sandbox, signal)),
      ...limits(config, await provider.capabilities(signal, name)),
      ...(config.sandboxLife.sparesMax === 0 ? [] : [await spares(provider, request, signal)]),
    ];
  } catch (error) {
    return [fault("sandbox", failureSentence(error))];
  } finally {
    await provider.dispose(request.handId);
  }
}

/** Makes one for a hand that is new, as the hands do. */
async function spares(
  provider: LocalProvider,
  { recipe, outfit, ...place }: ProvisionRequest,
  signal: AbortSignal,
): Promise<Finding> {
  const refusal = provider.spares.refusal(recipe.provider);
  if (refusal !== undefined) return limit("spares", `none are made: ${refusal}`);
  const made = { recipe, ...(outfit !== undefined && { outfit }) };
  const spare = await provider.spares.make(made, signal);
  const handId = `${place.handId}_new`;
  try {
    const start = performance.now();
    const sandbox = await spare.adopt({ ...place, ...made, handId }, signal);
    const said = sandbox && (await run(sandbox, "echo ready", signal));
    if (said !== "ready\n") return fault("spares", "one could not be used");
    const ms = Math.round(performance.now() - start);
    return good("spares", `one that was made before was used, and a command run, in ${ms} ms`);
  } finally {
    await spare.close();
    await provider.dispose(handId);
  }
}

function repositories(said: string): Finding {
  return said.startsWith("git version ")
    ? good("git", `${said.trim().slice("git version ".length, 40)}, for sessions with repositories`)
    : limit("git", "not there: repositories of sessions cannot be cloned until it is installed");
}

/** Which root file system new sessions' sandboxes have, and what a provider is told of it. */
function examineBase(config: Config): { finding: Finding; outfit?: Outfit } {
  const { sandboxBase } = config;
  try {
    const store = new BaseStore(config.data);
    const { root } = findBase(sandboxBase, store);
    if (root === undefined) {
      return {
        finding: good("base", "the programs of this machine; none can be added by packages.apt"),
      };
    }
    const made = sandboxBase.type === "built" ? store.find(sandboxBase.name) : undefined;
    const said =
      made === undefined
        ? `the folder ${root}`
        : `${made.name}, ${Math.ceil(made.size_bytes / MB)} MB, made at ${made.made_at}`;
    return { finding: good("base", said), outfit: { root, layers: {}, variables: {} } };
  } catch (error) {
    return { finding: fault("base", failureSentence(error)) };
  }
}

/** What works in a sandbox of most machines, and not in all. */
async function shortcomings(sandbox: Sandbox, signal: AbortSignal): Promise<Finding[]> {
  const said = await run(sandbox, "ls -ld / >/dev/null 2>&1 && echo shown", signal);
  if (said === "shown\n") return [];
  return [
    limit(
      "ls",
      "`ls -l` and `stat` do not work: a gVisor of before 2023 does not know how newer programs ask; install a newer `runsc`",
    ),
  ];
}

interface Attempt {
  readonly subject: string;
  readonly command: string;
  /** What the command says where the sandbox holds. */
  readonly expected: string;
  readonly means: string;
}

const ATTEMPTS: readonly Attempt[] = [
  {
    subject: "files",
    command:
      "{ grep -v ':[*!]' /etc/shadow; cat /etc/fstab; ls /root /home; } 2>/dev/null | grep -q . || echo hidden",
    expected: "hidden\n",
    means: "the host's files are not readable, but for its programs",
  },
  {
    subject: "programs",
    command: "touch /usr/bin/drover-doctor 2>/dev/null || echo read-only",
    expected: "read-only\n",
    means: "the host's programs cannot be changed",
  },
  {
    subject: "network",
    command: "sed 1,2d /proc/net/dev | cut -d: -f1 | tr -d ' '",
    expected: "lo\n",
    means: "without one, there is none but the sandbox's own loopback",
  },
  {
    subject: "processes",
    // The first process is the sandbox's own, bubblewrap's or an agent, not the machine's.
    command: "case $(cat /proc/1/comm) in bwrap|perl) echo own ;; esac",
    expected: "own\n",
    means: "the host's processes are not seen",
  },
];

/** What must not be possible inside, each tried once. */
export async function tryToGetOut(
  sandbox: Pick<Sandbox, "exec">,
  signal: AbortSignal,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const attempt of ATTEMPTS) findings.push(await tryOut(sandbox, attempt, signal));
  return findings;
}

async function tryOut(
  sandbox: Pick<Sandbox, "exec">,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<Finding> {
  const said = await run(sandbox, attempt.command, signal);
  return said === attempt.expected
    ? good(attempt.subject, attempt.means)
    : fault(attempt.subject, `not so: ${attempt.means}; the sandbox said ${JSON.stringify(said)}`);
}

async function run(
  sandbox: Pick<Sandbox, "exec">,
  command: string,
  signal: AbortSignal,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  await sandbox.exec(
    { command, timeoutMs: COMMAND_MS },
    (chunk) => {
      chunks.push(chunk);
    },
    signal,
  );
  return Buffer.concat(chunks).subarray(0, OUTPUT_BYTES_MAX).toString("utf8");
}

function limits(config: Config, capabilities: SandboxCapabilities): Finding[] {
  const users =
    capabilities.mode === "root"
      ? good("users", "each sandbox has a host user id of its own")
      : limit("users", "all sandboxes have this user's id; run as root to separate them");
  return [users, network(config, capabilities), ...usage(config, capabilities)];
}

function usage({ sandboxLimits }: Config, capabilities: SandboxCapabilities): Finding[] {
  const { memoryBytes, cpus, processes, openFiles, diskBytes } = sandboxLimits;
  const kinds: readonly (readonly [kind: string, limit: string | undefined, holds: boolean])[] = [
    [
      "memory",
      memoryBytes === undefined ? undefined : `${memoryBytes / MB} MB`,
      capabilities.memoryLimit,
    ],
    ["processor", cpus === undefined ? undefined : `${cpus}`, capabilities.cpuLimit],
    ["processes", `${processes}`, capabilities.processLimit],
    ["open files", `${openFiles}`, true],
    ["disk", diskBytes === undefined ? undefined : `${diskBytes / MB} MB`, capabilities.diskLimit],
  ];
  const holding = kinds.filter(([, value, holds]) => value !== undefined && holds);
  const failing = kinds.filter(([, value, holds]) => value !== undefined && !holds);
  const unset = kinds.filter(([, value]) => value === undefined).map(([kind]) => kind);
  return [
    good("limits", `on ${holding.map(([kind, value]) => `${kind} (${value})`).join(", ")}`),
    ...(failing.length === 0
      ? []
      : [
          limit(
            "limits",
            `not enforced here: ${failing.map(([kind]) => kind).join(", ")}; ${REMEDY}`,
          ),
        ]),
    ...(unset.length === 0 ? [] : [limit("limits", `none on ${unset.join(", ")}`)]),
  ];
}

function network(config: Config, { transparentEgress }: SandboxCapabilities): Finding {
  if (config.sandboxNetwork === "none") {
    return good("network", "no sandbox has one, by DROVER_SANDBOX_NETWORK");
  }
  if (transparentEgress) {
    return good(
      "network",
      "with one, every connection of every program ends in the sandbox's proxy",
    );
  }
  return fault(
    "network",
    "sandboxes can have none here, so those of sessions whose environment has one cannot be made: the kernel needs nftables with TPROXY (`modprobe nft_tproxy`); or set DROVER_SANDBOX_NETWORK=none",
  );
}
