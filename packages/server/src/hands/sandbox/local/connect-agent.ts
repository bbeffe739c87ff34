import type { Recipe } from "../../../core/ports/hands.ts";
import { SandboxUnavailableError } from "../../../core/ports/sandbox.ts";
import type { SandboxFacts } from "../../../core/sandboxes/facts.ts";
import { limitSentence } from "../../../core/sandboxes/limits.ts";
import { failPoint } from "../../../lib/fail-point.ts";
import type { SandboxExit } from "../../egress/sandbox-exit.ts";
import { AgentConnection } from "../agent-connection.ts";
import { AgentSandbox } from "../agent-sandbox.ts";
import { diskHits } from "../disk/disk-hits.ts";
import type { HandDisk } from "../disk/sandbox-disks.ts";
import { forgetRecord, saveRecord } from "./process-record.ts";
import type { LaunchedSandbox } from "./sandbox-launcher.ts";

const READY_MS = 20_000;

export interface ConnectOptions {
  readonly handId: string;
  readonly handFolder: string;
  readonly process: LaunchedSandbox;
  /** Its way out, if it has one; ends with it. */
  readonly exit: SandboxExit | undefined;
  /** See `Sandbox.showFiles`. */
  readonly showFiles: (recipe: Recipe) => Promise<void>;
  readonly answerMs: number;
  readonly facts: SandboxFacts;
  /** Its own file system, if it has one. */
  readonly disk: HandDisk | undefined;
  readonly onWarning: ((message: string, error: unknown) => void) | undefined;
}

/**
 * Makes a started process a sandbox that can be asked. Rejects with `SandboxUnavailableError` if its
 * agent does not start or the signal is aborted, and then the process is gone.
 */
export async function connectAgent(
  options: ConnectOptions,
  signal: AbortSignal,
): Promise<AgentSandbox> {
  const { process } = options;
  // Before the first request: what the sandbox does from then on can be ended by a later process.
  try {
    saveRecord(options.handFolder, process.record);
    failPoint("hands.provision.after_record");
  } catch (error) {
    options.exit?.close();
    await process.end();
    throw error;
  }
  const { connection, sandbox } = wire(options);
  const onAbort = () => connection.fail("the making of it was given up");
  const timer = setTimeout(() => connection.fail("its agent did not start"), READY_MS);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    if (signal.aborted) onAbort();
    await connection.hello;
    return sandbox;
  } catch (cause) {
    await sandbox.close();
    const why = await sandbox.closed;
    throw new SandboxUnavailableError(`the agent did not start: ${why}`, { cause });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

function wire(options: ConnectOptions): { connection: AgentConnection; sandbox: AgentSandbox } {
  const { handId, handFolder, process, exit, showFiles, answerMs, onWarning, facts, disk } =
    options;
  const warn = (what: string) => (error: unknown) => onWarning?.(what, error);
  let because: string | undefined;
  const connection = new AgentConnection(process.stdin, process.stdout, (why) => {
    because ??= why;
    process.end().catch(warn(`the sandbox of ${handId} does not end`));
  });
  const closed = process.exited.then(async (why) => {
    because ??= [...process.takeLimitHits().map(limitSentence), `it ended by itself: ${why}`].join(
      "; ",
    );
    exit?.close();
    connection.end(because);
    await process.end();
    forgetRecord(handFolder, process.record);
    return because;
  });
  closed.catch(warn(`the sandbox of ${handId} is not proved gone`));
  const end = async (): Promise<void> => {
    because ??= "it was closed";
    connection.end(because);
    await process.end();
    await closed;
  };
  const takeEgress = () => exit?.takeEgress() ?? [];
  const takeLimitHits = () => process.takeLimitHits();
  const sandbox = new AgentSandbox({
    ...{ handId, connection, answerMs, facts },
    ...{ closed, end, showFiles, takeEgress, takeLimitHits },
    diskHits: (measure) => diskHits({ diskBytes: disk?.bytes, handFolder }, measure),
  });
  return { connection, sandbox };
}
