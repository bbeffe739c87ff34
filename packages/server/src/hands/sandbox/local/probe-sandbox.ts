import { randomBytes } from "node:crypto";
import type { Recipe, SandboxNetwork } from "../../../core/ports/hands.ts";
import {
  type Sandbox,
  SandboxGoneError,
  type SandboxProvider,
  SandboxUnavailableError,
} from "../../../core/ports/sandbox.ts";
import type { ProviderName } from "../../../core/sandboxes/providers.ts";

const READY_MS = 20_000;
/** For the way out to judge a connection. */
const JUDGED_S = 15;
/** For documentation (RFC 5737): nobody has it, and it is never dialled. */
const PROBED_ADDRESS = "192.0.2.1";

const PROBE_ID = /^probe-[0-9a-f]{16}$/;

/** Whether the hand was only to find out what a sandbox can do. */
export function isProbeId(handId: string): boolean {
  return PROBE_ID.test(handId);
}

type Prober = Pick<SandboxProvider, "provision" | "dispose">;

/** Rejects with `SandboxUnavailableError` unless a real sandbox runs a command. */
export async function probeBash(
  provider: Prober,
  name: ProviderName,
  signal: AbortSignal,
): Promise<void> {
  const options = { name, network: { type: "none" } } as const;
  await probe(provider, { ...options, signal }, async (sandbox) => {
    const request = { command: "exit 7", timeoutMs: READY_MS };
    const { exitCode } = await sandbox.exec(request, () => undefined, signal);
    if (exitCode !== 7) throw new SandboxUnavailableError("bash does not run in a sandbox");
  });
}

export interface EgressProbe {
  readonly name: ProviderName;
  readonly onWarning: ((message: string, error: unknown) => void) | undefined;
}

/** Whether a program that knows of no proxy meets the way out, here where nothing is allowed. */
export async function hasTransparentEgress(
  provider: Prober,
  { name, onWarning }: EgressProbe,
  signal: AbortSignal,
): Promise<boolean> {
  const network = { type: "limited", hosts: [] } as const;
  try {
    return await probe(provider, { name, network, signal }, async (sandbox) => {
      // Connected is soon; it ends only once the way out has judged it. With a time-out `read` waits first, which on
      // gVisor a read by itself does not.
      const command = `read -r -t ${JUDGED_S} </dev/tcp/${PROBED_ADDRESS}/9`;
      await sandbox.exec({ command, timeoutMs: READY_MS }, () => undefined, signal);
      return sandbox.takeEgress().some(({ host }) => host === PROBED_ADDRESS);
    });
  } catch (error) {
    if (!(error instanceof SandboxUnavailableError) || signal.aborted) throw error;
    onWarning?.("sandboxes can have no network here", error);
    return false;
  }
}

interface ProbeOptions {
  readonly name: ProviderName;
  readonly network: SandboxNetwork;
  readonly signal: AbortSignal;
}

async function probe<T>(
  provider: Prober,
  { name, network, signal }: ProbeOptions,
  use: (sandbox: Sandbox) => Promise<T>,
): Promise<T> {
  const handId = `probe-${randomBytes(8).toString("hex")}`;
  const recipe: Recipe = { provider: name, base: { type: "host" }, mounts: [], network };
  try {
    return await use(await provider.provision({ workspaceId: "probe", handId, recipe }, signal));
  } catch (error) {
    if (!(error instanceof SandboxGoneError)) throw error;
    throw new SandboxUnavailableError(error.message, { cause: error });
  } finally {
    await provider.dispose(handId);
  }
}
